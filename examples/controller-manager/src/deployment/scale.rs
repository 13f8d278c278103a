//! How many pods each set has.

use std::cmp::Reverse;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube_controller::events::Event;

use super::template::{DESIRED, MAX, note, noted};
use super::{Case, available_of, replicas_of, sum};
use crate::worker::Outcome;

impl Case<'_> {
    /// How many pods more than wanted there may be.
    pub(super) fn max_surge(&self) -> i32 {
        self.limits().0
    }

    /// How many pods there may be.
    pub(super) fn most(&self) -> i32 {
        self.wanted().saturating_add(self.max_surge())
    }

    /// How many of the wanted pods may be missing.
    pub(super) fn max_unavailable(&self) -> i32 {
        if self.strategy() == "Recreate" || self.wanted() == 0 {
            return 0;
        }
        self.limits().1.min(self.wanted())
    }

    /// Surge and unavailable; at least one of them, or nothing would ever move.
    fn limits(&self) -> (i32, i32) {
        if self.strategy() == "Recreate" {
            return (0, 0);
        }
        let rolling =
            self.deployment.spec.strategy.as_ref().and_then(|strategy| strategy.rolling_update.as_ref());
        let quarter = IntOrString::String("25%".to_owned());
        let surge = rolling.and_then(|rolling| rolling.max_surge.as_ref()).unwrap_or(&quarter);
        let unavailable = rolling.and_then(|rolling| rolling.max_unavailable.as_ref()).unwrap_or(&quarter);
        let surge = resolve(surge, self.wanted(), true);
        let unavailable = resolve(unavailable, self.wanted(), false);
        if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
    }

    /// How many pods the new set may have now.
    pub(super) fn new_set_size(&self, new: &ReplicaSet) -> i32 {
        if self.strategy() == "Recreate" {
            return self.wanted();
        }
        let room = self.most().saturating_sub(self.total());
        if room <= 0 {
            return replicas_of(new);
        }
        let has = replicas_of(new);
        has.saturating_add(room.min(self.wanted().saturating_sub(has)))
    }

    /// Somebody has changed how many pods there should be, since the sets were last scaled.
    pub(super) fn was_scaled(&self) -> bool {
        let mut active = self.all.values().filter(|set| replicas_of(set) > 0);
        active.any(|set| noted::<i32>(&set.metadata, DESIRED).is_some_and(|desired| desired != self.wanted()))
    }

    /// Spreads a new number of pods over the sets that have some, in proportion.
    pub(super) async fn scale(&mut self, new: Option<&str>) -> Outcome {
        if let Some(only) = self.active_or_latest(new) {
            if replicas_of(&only) != self.wanted() {
                self.resize(&only, self.wanted()).await?;
            }
            return Ok(());
        }
        let full = new.and_then(|name| self.all.get(name)).is_some_and(|set| self.is_saturated(set));
        if full {
            for old in self.old_sets(new).into_iter().filter(|set| replicas_of(set) > 0) {
                self.resize(&old, 0).await?;
            }
            return Ok(());
        }
        if self.strategy() != "Recreate" {
            self.scale_in_proportion().await?;
        }
        Ok(())
    }

    async fn scale_in_proportion(&mut self) -> Outcome {
        let mut active: Vec<ReplicaSet> =
            self.all.values().filter(|set| replicas_of(set) > 0).cloned().collect();
        let allowed = if self.wanted() > 0 { self.most() } else { 0 };
        let to_add = allowed.saturating_sub(sum(active.iter().map(replicas_of)));
        // The largest first; of equals the newest if it grows, the oldest if it shrinks.
        super::sort_by_age(&mut active);
        if to_add > 0 {
            active.reverse();
        }
        active.sort_by_key(|set| Reverse(replicas_of(set)));
        let mut added = 0_i32;
        let mut sizes: Vec<i32> = Vec::new();
        for set in &active {
            let left = to_add.saturating_sub(added);
            let share = if to_add == 0 || left == 0 { 0 } else { self.share(set) };
            let share = if to_add > 0 { share.min(left) } else { share.max(left) };
            added = added.saturating_add(share);
            sizes.push(replicas_of(set).saturating_add(share));
        }
        // What is left by rounding goes to the first.
        if let Some(first) = sizes.first_mut() {
            *first = first.saturating_add(to_add.saturating_sub(added)).max(0);
        }
        for (set, size) in active.iter().zip(sizes) {
            self.resize(set, size).await?;
        }
        Ok(())
    }

    /// By how much a set changes if all change by the same factor.
    fn share(&self, set: &ReplicaSet) -> i32 {
        if self.wanted() == 0 {
            return replicas_of(set).saturating_neg();
        }
        let before = noted::<i32>(&set.metadata, MAX).filter(|max| *max > 0).unwrap_or_else(|| {
            self.deployment.status.as_ref().and_then(|status| status.replicas).unwrap_or(0).max(1)
        });
        let (size, max) = (f64::from(replicas_of(set)), f64::from(self.most()));
        ((size * max / f64::from(before)).round() as i32).saturating_sub(replicas_of(set))
    }

    /// The only set with pods; or, if none has any, the new one or the latest. None if several have.
    fn active_or_latest(&self, new: Option<&str>) -> Option<ReplicaSet> {
        let mut active = self.all.values().filter(|set| replicas_of(set) > 0);
        match (active.next(), active.next()) {
            (Some(only), None) => Some(only.clone()),
            (None, _) => {
                new.and_then(|name| self.all.get(name)).cloned().or_else(|| self.old_sets(None).pop())
            }
            (Some(_), Some(_)) => None,
        }
    }

    /// The set has all the pods that the deployment wants, and they work.
    fn is_saturated(&self, set: &ReplicaSet) -> bool {
        let desired: Option<i32> = noted(&set.metadata, DESIRED);
        replicas_of(set) == self.wanted()
            && desired == Some(self.wanted())
            && available_of(set) == self.wanted()
    }

    /// Gives a set another size, and notes for which size of the deployment. True if it was another.
    pub(super) async fn resize(&mut self, set: &ReplicaSet, size: i32) -> Outcome<bool> {
        let before = replicas_of(set);
        let mut changed = set.clone();
        let mut noted = note(&mut changed.metadata, DESIRED, &self.wanted());
        noted |= note(&mut changed.metadata, MAX, &self.most());
        if before == size && !noted {
            return Ok(false);
        }
        changed.spec.replicas = Some(size);
        self.replace(&changed).await?;
        if before != size {
            let direction = if before < size { "up" } else { "down" };
            let name = set.metadata.name.clone().unwrap_or_default();
            self.tell_scaled(direction, &name, before, size);
        }
        Ok(before != size)
    }

    pub(super) fn tell_scaled(&self, direction: &str, name: &str, from: i32, to: i32) {
        let note = format!("Scaled {direction} replica set {name} from {from} to {to}");
        self.controller.tell(self.deployment, Event::normal("ScalingReplicaSet", "Scale", note));
    }
}

/// A number, or a part of another that is rounded up or down.
fn resolve(value: &IntOrString, of: i32, up: bool) -> i32 {
    match value {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => {
            let percent = text.trim_end_matches('%').parse::<i64>().unwrap_or(0);
            let scaled = percent.saturating_mul(i64::from(of));
            let rounded = if up { scaled.saturating_add(99).div_euclid(100) } else { scaled.div_euclid(100) };
            i32::try_from(rounded).unwrap_or(i32::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_rounded_up_or_down() {
        let quarter = IntOrString::String("25%".to_owned());
        assert_eq!((resolve(&quarter, 10, true), resolve(&quarter, 10, false)), (3, 2));
        assert_eq!((resolve(&quarter, 0, true), resolve(&quarter, 1, true)), (0, 1));
        assert_eq!(resolve(&IntOrString::Int(4), 10, true), 4);
        let huge = IntOrString::String(format!("{}%", i64::MAX));
        assert_eq!((resolve(&huge, i32::MAX, true), resolve(&huge, i32::MAX, false)), (i32::MAX, i32::MAX));
        assert_eq!(resolve(&IntOrString::String("nonsense".to_owned()), 10, true), 0);
    }
}
