//! `weir export`: interactions with their decisions as a Parquet file.
//!
//! The file appears under its name once it is whole.

#[cfg(not(feature = "parquet"))]
use super::Failure;
use super::finish;
use crate::cli::ExportArgs;

/// Runs it.
pub fn run(args: &ExportArgs) -> u8 {
    finish(export(args))
}

#[cfg(not(feature = "parquet"))]
fn export(args: &ExportArgs) -> Result<u8, Failure> {
    Err(Failure::new(format!("{}: {}", args.to.display(), crate::archive::HOW)))
}

#[cfg(feature = "parquet")]
use self::work::export;

#[cfg(feature = "parquet")]
mod work {
    use std::collections::HashMap;
    use std::fs::{self, File};
    use std::io::{BufRead, BufReader};
    use std::path::Path;

    use crate::archive::{Row, Told, Writer};
    use crate::cli::{ExportArgs, exit};
    use crate::commands::{Failure, needless, print, reading, topic};
    use crate::evaluate::Label;
    use crate::evaluate::read::{Ear, Faults, Format};
    use crate::replay::Heard;
    use crate::wire::decision;

    /// Lines that are taken together.
    const TOGETHER: usize = 1_024;

    pub(super) fn export(args: &ExportArgs) -> Result<u8, Failure> {
        needless::labels(&args.reading)?;
        if args.reading.as_of.is_some() {
            return Err(Failure::of_usage("--as-of has no effect here: nothing is decided"));
        }
        if args.from.is_none() {
            needless::brokers(&args.config)?;
        } else {
            needless::of_lines(&args.reading, Format::JsonLines)?;
        }
        let unfinished = args.to.with_extension("parquet.unfinished");
        let failed = |error: &dyn std::fmt::Display| Failure::new(format!("{}: {error}", args.to.display()));
        let file = File::create(&unfinished).map_err(|error| failed(&error))?;
        let mut writer = Writer::new(file).map_err(|error| failed(&error))?;
        let mut faults = Faults::default();
        let filled = match &args.input {
            Some(input) => lines(args, input, &mut writer),
            None => {
                topic::rows(args, &mut faults, &mut |row| writer.add(row).map_err(|error| failed(&error)))
                    .map(|()| faults)
            }
        };
        let ended = filled.and_then(|faults| {
            reading::faults(&faults);
            let (count, file) = writer.end().map_err(|error| failed(&error))?;
            file.sync_all()
                .and_then(|()| fs::rename(&unfinished, &args.to))
                .map_err(|error| failed(&error))?;
            Ok(count)
        });
        match ended {
            Ok(count) => {
                print(&format!("{}: {count} interactions\n", args.to.display()))?;
                Ok(exit::OK)
            }
            Err(failure) => {
                // What is left of it is of no use; that it cannot be removed is no second failure.
                fs::remove_file(&unfinished).unwrap_or_default();
                Err(failure)
            }
        }
    }

    /// Lines of a file, as they are.
    fn lines(
        args: &ExportArgs,
        input: &crate::cli::FileOrStandard,
        writer: &mut Writer<File>,
    ) -> Result<Faults, Failure> {
        let told = args.decisions.as_deref().map(decisions).transpose()?.unwrap_or_default();
        let events = reading::events(args.format, &args.reading, input)?;
        let mut session = reading::session(&args.reading, None)?;
        let mut copier = Copier { writer, told, next: 0, unreadable: 0, broken: None };
        session.hear(&mut copier, events.input).map_err(|error| Failure::new(error.to_string()))?;
        if let Some(broken) = copier.broken {
            return Err(Failure::new(format!("{}: {broken}", args.to.display())));
        }
        let name = reading::name(input);
        for _ in 0..copier.unreadable {
            session.faults.note("not UTF-8", || name.clone(), "the line is kept as far as it is text");
        }
        Ok(session.faults)
    }

    /// What `weir replay` decided, by line.
    fn decisions(path: &Path) -> Result<HashMap<i64, Told>, Failure> {
        let mut told = HashMap::new();
        for (number, line) in BufReader::new(reading::open(path)?).lines().enumerate() {
            let place = || format!("{}:{}", path.display(), number + 1);
            let line = line.map_err(|error| Failure::new(format!("{}: {error}", place())))?;
            // Other lines say why nothing was decided.
            if let Ok(decision) = decision::decode(Some(line.as_bytes())) {
                told.insert(decision.source.offset, Told::of(&decision));
            }
        }
        if told.is_empty() {
            let text = "holds no decision: is it what `weir replay --output` wrote?";
            return Err(Failure::new(format!("{}: {text}", path.display())));
        }
        Ok(told)
    }

    struct Copier<'w> {
        writer: &'w mut Writer<File>,
        told: HashMap<i64, Told>,
        next: i64,
        unreadable: u64,
        broken: Option<String>,
    }

    impl Ear for Copier<'_> {
        fn together<'l>(
            &mut self,
            lines: impl Iterator<Item = &'l [u8]>,
            _: impl FnMut(&Heard<'_>) -> Option<Label>,
        ) -> usize {
            let mut count = 0;
            for line in lines.take(TOGETHER) {
                let text = String::from_utf8_lossy(line);
                self.unreadable += u64::from(matches!(text, std::borrow::Cow::Owned(_)));
                let (offset, told) = (self.next, self.told.remove(&self.next));
                let row = Row { partition: 0, offset, line: text.into_owned(), told };
                if let Err(error) = self.writer.add(row) {
                    self.broken.get_or_insert_with(|| error.to_string());
                }
                self.next += 1;
                count += 1;
            }
            count
        }

        fn has_enough(&self) -> bool {
            self.broken.is_some()
        }
    }
}
