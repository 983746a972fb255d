//! The headers of what weir writes: CloudEvents 1.0 in binary mode, the schema version, the trace.
//!
//! No time among them: all but one field of a record is the same when the log is read again, and so are these.

use super::headers::TraceContext;

/// One header of an outgoing record.
pub type Header<'a> = (&'static str, &'a [u8]);

/// What a record is about: one folder of `schemas/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// `risk.decisions.v1`.
    Decision,
    /// `risk.shadow.v1`: single events.
    Shadow,
    /// `risk.shadow.v1`, too: how a candidate compares in all.
    ShadowTally,
    /// `risk.bans.v1`.
    Ban,
    /// `risk.cases.v1`.
    Case,
    /// `risk.commands.v1`.
    Command,
    /// `risk.feedback.v1`.
    Feedback,
    /// `risk.policies.v1`.
    Policy,
    /// `risk.journal.v1`.
    Journal,
}

/// What the CloudEvents attribute `source` says.
const SOURCE: &str = "/weir";

impl Subject {
    /// The CloudEvents attribute `type`.
    pub const fn event_type(self) -> &'static str {
        match self {
            Subject::Decision => "risk.decision.v1",
            Subject::Shadow => "risk.shadow.v1",
            Subject::ShadowTally => "risk.shadow-tally.v1",
            Subject::Ban => "risk.ban.v1",
            Subject::Case => "risk.case.v1",
            Subject::Command => "risk.command.v1",
            Subject::Feedback => "risk.feedback.v1",
            Subject::Policy => "risk.policy.v1",
            Subject::Journal => "risk.journal.v1",
        }
    }
}

/// The headers of one record: `id` identifies it together with the source.
pub fn headers<'h>(
    subject: Subject,
    id: &'h str,
    trace: &TraceContext<'h>,
) -> impl Iterator<Item = Header<'h>> {
    let fixed: [Header<'h>; 6] = [
        ("content-type", b"application/json"),
        ("ce_specversion", b"1.0"),
        ("ce_type", subject.event_type().as_bytes()),
        ("ce_source", SOURCE.as_bytes()),
        ("ce_id", id.as_bytes()),
        ("schema-version", b"1"),
    ];
    let parent = trace.traceparent.map(|text| ("traceparent", text.as_bytes()));
    let state = trace.tracestate.map(|text| ("tracestate", text.as_bytes()));
    fixed.into_iter().chain(parent).chain(state)
}
