//! Where lines come from and decisions go to.

use std::fs::{self, File};
use std::io::{self, Read, Write};

use crate::cli::{FileOrStandard, ReplayArgs};
use crate::commands::{Failure, reading};

/// Lines to be read.
pub(super) struct Input {
    /// For messages.
    pub(super) name: String,
    /// The bytes.
    pub(super) from: Box<dyn Read>,
    /// How many bytes; `None` where that is not known.
    pub(super) length: Option<u64>,
}

/// A writer whose faults can be told from those of the input.
pub(super) struct Named {
    name: String,
    to: Box<dyn Write>,
}

/// A fault of an output, inside an [`io::Error`] of the same kind.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {error}")]
struct OutputFault {
    name: String,
    error: io::Error,
}

impl Named {
    fn fault(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), OutputFault { name: self.name.clone(), error })
    }
}

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes).map_err(|error| self.fault(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush().map_err(|error| self.fault(error))
    }
}

pub(super) fn open(input: &FileOrStandard) -> Result<Input, Failure> {
    let FileOrStandard::File(path) = input else {
        return Ok(Input { name: "stdin".to_owned(), from: Box::new(io::stdin().lock()), length: None });
    };
    let name = path.display().to_string();
    if reading::is_table(&name) {
        return Err(Failure::of_usage(format!(
            "input {name}: a table is no lines of JSON: `weir backtest --input FILE --map FIELD=COLUMN` reads it (`weir map FILE` \
             guesses the columns)"
        )));
    }
    if name.ends_with(reading::ARCHIVE) {
        return Ok(Input { name, from: reading::archive(path)?, length: None });
    }
    let failed = |error: io::Error| Failure::new(format!("input {name}: {error}"));
    let file = File::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if about.is_dir() {
        return Err(Failure::new(format!("input {name}: is a directory")));
    }
    Ok(Input { name, from: Box::new(file), length: about.is_file().then_some(about.len()) })
}

/// Where decisions go to, and their corrections.
pub(super) fn outputs(args: &ReplayArgs) -> Result<(Named, Named), Failure> {
    let to = create(&args.output, &args.input)?;
    let Some(revisions) = &args.revisions else {
        return Ok((to, Named { name: "nowhere".to_owned(), to: Box::new(io::sink()) }));
    };
    let revised = create(revisions, &args.input)?;
    let standard = [revisions, &args.output].iter().all(|file| **file == FileOrStandard::Standard);
    let files = match (revisions, &args.output) {
        (FileOrStandard::File(one), FileOrStandard::File(other)) => {
            fs::metadata(one).ok().zip(fs::metadata(other).ok())
        }
        _ => None,
    };
    if standard || files.is_some_and(|(one, other)| reading::same(&one, &other)) {
        return Err(Failure::of_usage("--revisions and --output are the same: give two files"));
    }
    Ok((to, revised))
}

/// Makes or empties the output; never the input's own file.
fn create(output: &FileOrStandard, input: &FileOrStandard) -> Result<Named, Failure> {
    let FileOrStandard::File(path) = output else {
        return Ok(Named { name: "stdout".to_owned(), to: Box::new(io::stdout()) });
    };
    let name = path.display().to_string();
    reading::keep(input, path)?;
    match File::create(path) {
        Ok(file) => Ok(Named { name, to: Box::new(file) }),
        Err(error) => Err(Failure::new(format!("output {name}: {error}"))),
    }
}

/// The words for a replay that could not be finished.
pub(super) fn failed(error: &io::Error, input: &str) -> Failure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<OutputFault>()) {
        Some(OutputFault { name, error }) => Failure::of_output(&format!("output {name}"), error),
        None => Failure::new(format!("input {input}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::exit;

    /// Refuses everything.
    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_fault_is_told_of_the_right_side() {
        let fault = |kind| {
            let mut broken = Named { name: "out".to_owned(), to: Box::new(Broken(kind)) };
            broken.write(b"x").expect_err("it is broken")
        };
        let full = failed(&fault(io::ErrorKind::StorageFull), "in");
        assert!(full.text.starts_with("error: output out: "), "{}", full.text);
        let gone = failed(&fault(io::ErrorKind::BrokenPipe), "in");
        assert_eq!((gone.code, gone.text.as_str()), (exit::OK, ""));
        let unread = failed(&io::ErrorKind::UnexpectedEof.into(), "in");
        assert!(unread.text.starts_with("error: input in: "), "{}", unread.text);
    }

    #[test]
    fn the_input_is_never_overwritten() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (path, link) = (dir.path().join("a.jsonl"), dir.path().join("b.jsonl"));
        fs::write(&path, "x").expect("writable");
        fs::hard_link(&path, &link).expect("the same file system");
        let (input, output) = (FileOrStandard::File(path.clone()), FileOrStandard::File(link));
        let failure = create(&output, &input).err().expect("it is the input");
        assert_eq!(failure.code, exit::USAGE);
        assert_eq!(fs::read(&path).expect("readable"), b"x");
    }
}
