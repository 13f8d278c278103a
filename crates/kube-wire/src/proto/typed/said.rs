//! What the made files say, as code.

/// The fields of types: `NUMBER FIELD, ...;`, those that only some versions of Kubernetes have after the macros of
/// k8s-openapi that let them through, those whose types are not filled in place after a `~`. The numbers are
/// [places](super::walk::Walk::next): 2001 is the field 1 of the message that is inlined as 2. Behind `empty` and `zero` are
/// those that are not there if they are that: what Go has no pointer for.
macro_rules! places {
    ($group:literal $(
        $([$($since:ident)+])?
        $ty:ident {
            $($number:literal $field:ident),*;
            $([$($gate:ident)+] $($gated_number:literal $gated_field:ident),+;)*
            $(~ $($other_number:literal $other_field:ident),+;)?
            $(empty $($empty:literal)+;)?
            $(zero $($zero:literal)+;)?
        }
    )+) => { $(
        gated! { [$($($since)+)?]
            impl Item for types::$ty {
                #[inline]
                fn put(&mut self, value: Raw<'_>, at: At) -> Option<()> {
                    self.fill(value.bytes, at)
                }

                #[inline]
                fn read(value: Raw<'_>, at: At) -> Option<Self> {
                    let mut filled = Self::default();
                    filled.fill(value.bytes, at).map(|()| filled)
                }

                #[inline]
                fn put_some(place: &mut Option<Self>, value: Raw<'_>, at: At) -> Option<()> {
                    match place {
                        Some(used) => used.fill(value.bytes, at),
                        None => place.insert(Self::default()).fill(value.bytes, at.fresh()),
                    }
                }

                #[inline]
                fn make_room(list: &mut Vec<Self>, count: usize) {
                    list.resize_with(count, Self::default);
                }

                #[inline]
                fn touch(&self) -> usize {
                    Fill::touch(self)
                }
            }

            impl Fill for types::$ty {
                fn fill(&mut self, bytes: &[u8], at: At) -> Option<()> {
                    const PLACES: [&[u32]; 3] =
                        [&[$($number),*], &[$($($gated_number),+),*], &[$($($other_number),+)?]];
                    const EMPTY: &[u32] = &[$($($empty),+)?];
                    const ZERO: &[u32] = &[$($($zero),+)?];
                    const RULES: Rules = Rules::new(EMPTY, ZERO, &PLACES);
                    const { assert!(Seen::can_tell_apart(&PLACES)) };
                    let (mut walk, mut seen) = (Walk::new(bytes), Seen::default());
                    loop {
                        match walk.next(RULES)? {
                            END => break,
                            $($number => {
                                if const { Rules::is_left(EMPTY, $number) } && walk.skip_zero(BYTES)
                                    || const { Rules::is_left(ZERO, $number) } && walk.skip_zero(VARINT)
                                {
                                    continue;
                                }
                                seen.add(const { Seen::of($number) });
                                walk.rest = self.$field.receive(walk.tag, walk.rest, at)?;
                            })*
                            $($($other_number => {
                                seen.add(const { Seen::of($other_number) });
                                let message = concat!($group, ".", stringify!($ty));
                                walk.rest = through_serde(&mut self.$other_field, message, $other_number, walk.start)?;
                            })+)?
                            _place => {
                                $(gated! { [$($gate)+]
                                    match _place {
                                        $($gated_number => {
                                            const { assert!(
                                                !Rules::is_left(EMPTY, $gated_number)
                                                    && !Rules::is_left(ZERO, $gated_number)
                                            ) };
                                            seen.add(const { Seen::of($gated_number) });
                                            walk.rest = self.$gated_field.receive(walk.tag, walk.rest, at)?;
                                            continue;
                                        })+
                                        _ => {}
                                    }
                                })*
                                // In an inlined message the way through serde looks at all that the table knows.
                                if _place >= INLINED {
                                    return None;
                                }
                                walk.rest = pass(walk.tag, walk.rest)?;
                            }
                        }
                    }
                    if at.used {
                        self.forget_unseen(seen);
                    }
                    Some(())
                }

                fn touch(&self) -> usize {
                    0 $(^ Field::touch(&self.$field))*
                }

                fn forget_unseen(&mut self, seen: Seen) {
                    $(if !seen.has(const { Seen::of($number) }) {
                        self.$field.forget();
                    })*
                    $($(if !seen.has(const { Seen::of($other_number) }) {
                        self.$other_field = Default::default();
                    })+)?
                    $(gated! { [$($gate)+]
                        $(if !seen.has(const { Seen::of($gated_number) }) {
                            self.$gated_field.forget();
                        })+
                    })*
                }
            }
        }
    )+ };
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

        $(
            impl crate::codec::sealed::Sealed for k8s_openapi::$($kind)::+ {}

            impl crate::BuiltIn for k8s_openapi::$($kind)::+ {
                fn codec() -> crate::Codec<Self> {
                    crate::codec::built_in()
                }
            }
        )+

        /// How each kind is compared with what serde makes of it.
        #[cfg(test)]
        pub(super) const COMPARED: &[super::tests::Compared] = &[
            $(super::tests::compared::<k8s_openapi::$($kind)::+>(),)+
        ];
    };
}
