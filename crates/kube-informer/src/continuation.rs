//! Guards a paged list against continue tokens that never end.

/// The page limit that pages are measured by where a request names none.
const DEFAULT_LIMIT: u32 = 500;

/// The pages that any list may take, however few objects they have.
const FREE_PAGES: u64 = 100;

/// A page for each eighth of the page limit is allowed beyond the free ones.
const PAGES_PER_LIMIT: u32 = 8;

/// The continue tokens of one paged list. Detects tokens that repeat, whatever the length of the cycle, and remembers one token.
/// Bounds the number of pages in proportion to the objects in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContinueTokens {
    /// The token that later ones are compared with. It moves to the newest one each time the number of pages doubles.
    mark: Option<String>,
    pages: u64,
    objects: u64,
}

/// Why a paged list is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndlessList {
    /// The server repeated a continue token.
    TokenRepeats,
    /// More than 100 pages, plus one for each (limit / 8) objects received.
    TinyPages,
}

impl ContinueTokens {
    /// Takes the token at the end of a page with `objects` objects, requested with `limit`. Fails if the list is endless.
    pub(crate) fn take(&mut self, token: &str, objects: u64, limit: Option<u32>) -> Result<(), EndlessList> {
        if self.mark.as_deref() == Some(token) {
            return Err(EndlessList::TokenRepeats);
        }
        self.pages += 1;
        self.objects = self.objects.saturating_add(objects);
        let objects_per_page = (limit.unwrap_or(DEFAULT_LIMIT) / PAGES_PER_LIMIT).max(1);
        if self.pages > FREE_PAGES + self.objects / u64::from(objects_per_page) {
            return Err(EndlessList::TinyPages);
        }
        if self.pages.is_power_of_two() {
            self.mark = Some(token.to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_of_any_length_is_found_before_it_has_been_gone_through_three_times() {
        for (lead, cycle) in [(0, 1), (0, 2), (5, 3), (1, 100), (700, 50)] {
            let mut tokens = ContinueTokens::default();
            let token = |page: usize| if page < lead { page } else { lead + (page - lead) % cycle };
            let refused =
                (0..).position(|page| tokens.take(&token(page).to_string(), 500, Some(500)).is_err());
            let most = 2 * lead.max(cycle) + 2 * cycle + 1;
            assert!(refused.is_some_and(|page| page <= most), "{lead}, {cycle}: {refused:?} of {most}");
        }
    }

    /// Counts the pages of `objects` objects each that are taken, of the first 100,000.
    fn pages_taken(objects: u64, limit: Option<u32>) -> u64 {
        let mut tokens = ContinueTokens::default();
        let endless = |page: &u64| tokens.take(&page.to_string(), objects, limit).is_err();
        (0..100_000).find(endless).unwrap_or(100_000)
    }

    #[test]
    fn pages_are_bounded_in_proportion_to_the_objects_in_them() {
        assert_eq!(pages_taken(0, Some(500)), 100);
        for limit in [Some(500), None] {
            assert_eq!(pages_taken(1, limit), 101);
            assert_eq!(pages_taken(31, limit), 200, "half of an eighth of the limit");
            assert_eq!(pages_taken(62, limit), 100_000, "an eighth of the limit");
        }
        for limit in [1, 7, 8] {
            assert_eq!(
                pages_taken(1, Some(limit)),
                100_000,
                "no fewer than one object is in a page of {limit}"
            );
        }
    }
}
