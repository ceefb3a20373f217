//! Bounds that a user of the command line can meet.

/// Bytes of a line of `publish --lines`: a body of 4 MiB in base64 with everything that can stand
/// beside it.
pub(crate) const LINE_BYTES_MAX: usize = 8 << 20;
/// Commands of `consume --exec` that run at once.
pub(crate) const CONCURRENCY_MAX: u32 = 1000;

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Arguments;

    #[test]
    fn no_more_commands_run_at_once_than_the_limit() {
        let parsed = |concurrency: u32| {
            let concurrency = concurrency.to_string();
            let arguments = ["punctual", "consume", "t", "-s", "a", "--exec", "true", "--concurrency", &concurrency];
            Arguments::try_parse_from(arguments).is_ok()
        };
        assert!(parsed(CONCURRENCY_MAX));
        assert!(!parsed(CONCURRENCY_MAX + 1));
        assert!(!parsed(0));
    }
}
