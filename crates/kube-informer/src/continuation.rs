//! Guards a paged list against continue tokens that never end.

/// So many pages in a row may have a token and no item.
const MAX_EMPTY_PAGES: u32 = 100;

/// The continue tokens of one paged list. Finds out when they repeat, however long the cycle is, and remembers one of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContinueTokens {
    /// The token that later ones are compared with. It moves to the newest one each time the number of pages doubles.
    mark: Option<String>,
    pages: u64,
    empty_pages: u32,
}

/// Why a paged list is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndlessList {
    /// The server gave a continue token that it had given before.
    TokenRepeats,
    /// The server gave one continue token after the other, and no items with them.
    EmptyPages,
}

impl ContinueTokens {
    /// Takes the token at the end of a page, which had items or not. Fails if the list would never end.
    pub(crate) fn take(&mut self, token: &str, had_items: bool) -> Result<(), EndlessList> {
        if self.mark.as_deref() == Some(token) {
            return Err(EndlessList::TokenRepeats);
        }
        self.empty_pages = if had_items { 0 } else { self.empty_pages + 1 };
        if self.empty_pages > MAX_EMPTY_PAGES {
            return Err(EndlessList::EmptyPages);
        }
        self.pages += 1;
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
            let refused = (0..).position(|page| tokens.take(&token(page).to_string(), true).is_err());
            let most = 2 * lead.max(cycle) + 2 * cycle + 1;
            assert!(refused.is_some_and(|page| page <= most), "{lead}, {cycle}: {refused:?} of {most}");
        }
    }

    #[test]
    fn tokens_that_do_not_repeat_are_taken_as_long_as_items_come_with_them() {
        let mut tokens = ContinueTokens::default();
        let page = |page: u32| (page.to_string(), page.is_multiple_of(MAX_EMPTY_PAGES));
        assert!((0..10_000).map(page).all(|(token, items)| tokens.take(&token, items).is_ok()));
        let empty = |page: u32| tokens.take(&format!("empty-{page}"), false);
        let taken = (0..).map(empty).take_while(Result::is_ok).count();
        assert!(taken <= MAX_EMPTY_PAGES as usize, "{taken}");
    }
}
