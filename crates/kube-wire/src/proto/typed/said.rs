//! What the made files say, as code.

/// The fields of types: `NUMBER FIELD, ...;`, those that only some versions of Kubernetes have after the macros of
/// k8s-openapi that let them through, those whose types are not filled in place after a `~`. The numbers are
/// [places](super::Fields::step): 2001 is the field 1 of the message that is inlined as 2.
macro_rules! places {
    ($(
        $([$($since:ident)+])?
        $ty:ident {
            $($number:literal $field:ident),*;
            $([$($gate:ident)+] $($gated_number:literal $gated_field:ident),+;)*
            $(~ $($other_number:literal $other_field:ident),+;)?
        }
    )+) => { $(
        in_versions! { [$($($since)+)?]
            impl Item for types::$ty {
                const NEEDS_FIELD: bool = true;

                #[inline]
                fn read(value: &Slot<'_, '_>) -> Result<Self, ProtoError> {
                    let mut filled = Self::default();
                    fill(&mut filled, value).map(|()| filled)
                }

                #[inline]
                fn put(&mut self, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
                    refill(self, value)
                }

                #[inline]
                fn put_some(place: &mut Option<Self>, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
                    match place {
                        Some(used) => refill(used, value),
                        None => fill(place.insert(Self::default()), value),
                    }
                }

                #[inline]
                fn touch(&self) -> usize {
                    Fill::touch(self)
                }

                #[inline]
                fn push(list: &mut Vec<Self>, value: &Slot<'_, '_>) -> Result<(), ProtoError> {
                    list.push(Self::default());
                    list.last_mut().map_or(Ok(()), |place| fill(place, value))
                }
            }

            impl Fill for types::$ty {
                fn fill(&mut self, fields: &mut Fields<'_, '_>) -> Result<Seen, ProtoError> {
                    const { assert!(Seen::can_be_told_apart(&[
                        $($number,)* $($($gated_number,)+)* $($($other_number,)+)?
                    ])) };
                    let mut seen = Seen::default();
                    loop {
                        match fields.step()? {
                            END => return Ok(seen),
                            $($number => {
                                seen.add(const { Seen::of($number) });
                                put(&mut self.$field, fields)?;
                            })*
                            $($($other_number => {
                                seen.add(const { Seen::of($other_number) });
                                self.$other_field = through_serde(fields)?;
                            })+)?
                            _place => {
                                $(in_versions! { [$($gate)+]
                                    match _place {
                                        $($gated_number => {
                                            seen.add(const { Seen::of($gated_number) });
                                            put(&mut self.$gated_field, fields)?;
                                        })+
                                        _ => {}
                                    }
                                })*
                            }
                        }
                    }
                }

                fn touch(&self) -> usize {
                    0 $(^ Item::touch(&self.$field))*
                }

                fn forget_unseen(&mut self, seen: Seen) {
                    $(if !seen.has(const { Seen::of($number) }) {
                        self.$field.forget();
                    })*
                    $($(if !seen.has(const { Seen::of($other_number) }) {
                        self.$other_field = Default::default();
                    })+)?
                    $(in_versions! { [$($gate)+]
                        $(if !seen.has(const { Seen::of($gated_number) }) {
                            self.$gated_field.forget();
                        })+
                    })*
                }
            }
        }
    )+ };
}

/// Something that is there only in some versions of Kubernetes.
macro_rules! in_versions {
    ([] $($what:tt)*) => { $($what)* };
    ([$gate:ident $($more:ident)*] $($what:tt)*) => {
        k8s_openapi::$gate! { in_versions! { [$($more)*] $($what)* } }
    };
}

/// The kinds that are filled in place.
macro_rules! kinds {
    ($($($kind:ident)::+,)+) => {
        /// Fills the place of an object, if it is for one of these kinds.
        #[inline]
        pub(super) fn fill_place<K: 'static>(place: &mut Option<K>, object: &Object<'_>) -> bool {
            $(object.fill::<K, k8s_openapi::$($kind)::+>(place))||+
        }

        /// Whether a type is one of these kinds.
        pub(super) fn has<K: 'static>() -> bool {
            $(TypeId::of::<K>() == TypeId::of::<k8s_openapi::$($kind)::+>())||+
        }

        /// How each kind is compared with what serde makes of it.
        #[cfg(test)]
        pub(super) const COMPARED: &[super::tests::Compared] = &[
            $(super::tests::compared::<k8s_openapi::$($kind)::+>(),)+
        ];
    };
}
