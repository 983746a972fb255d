//! What can be asked, and how it is answered. Everything is read only; nothing here waits for anything (what reads
//! checkpoints does so elsewhere).

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::PathRejection;
use axum::extract::{MatchedPath, Path, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;

use super::answer::SubjectBody;
use super::checkpoints::{self, Access};
use super::guard::{Guard, guard};
use super::problem::Problem;
use super::readiness::{CheckState, Readiness};
use super::serving::Serving;
use crate::clock::Stopwatch;
use crate::engine::entity::{Entity, EntityKind};
use crate::metrics;

const METRICS: &str = "/metrics";
const HEALTHZ: &str = "/healthz";
const READYZ: &str = "/readyz";
const SUBJECTS: &str = "/v1/subjects/{kind}/{*value}";

const CHECKPOINTS: &str = "/v1/checkpoints";
const VERIFY: &str = "/v1/checkpoints/{generation}/verify";
const EXPORT: &str = "/v1/checkpoints/{generation}/export";

/// Longest value of an entity, in bytes: what an event's field may hold.
const VALUE_BYTES_MAX: usize = 4096;

/// What the routes read.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) serving: Arc<Serving>,
    pub(super) readiness: Arc<Readiness>,
    pub(super) metrics: metrics::Handle,
    pub(super) stall_timeout: Duration,
    pub(super) checkpoints: Access,
}

/// All routes behind their guard, with limits and headers.
pub(super) fn router(shared: Shared, guard_of: Guard, request_timeout: Duration) -> Router {
    let checkpoints = Router::new()
        .route(CHECKPOINTS, get(checkpoints::list))
        .route(VERIFY, get(checkpoints::verify))
        .route(EXPORT, get(checkpoints::export))
        .with_state(shared.checkpoints.clone());
    let guarded = Router::new()
        .route(METRICS, get(metrics_text))
        .route(SUBJECTS, get(subject))
        .merge(checkpoints)
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .layer(middleware::from_fn_with_state(guard_of, guard));
    let open = Router::new()
        .route(HEALTHZ, get(healthz))
        .route(READYZ, get(readyz))
        .method_not_allowed_fallback(not_allowed);
    guarded
        .merge(open)
        .layer(middleware::from_fn_with_state(request_timeout, limit_time))
        .layer(middleware::from_fn(add_headers))
        .layer(middleware::from_fn(measure))
        .with_state(shared)
}

async fn metrics_text(State(shared): State<Shared>) -> Response {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], shared.metrics.render()).into_response()
}

async fn healthz(State(shared): State<Shared>) -> Response {
    match shared.readiness.still_for() {
        Some(still) if still > shared.stall_timeout => {
            let detail = format!("the pipeline has not moved for {} s", still.as_secs());
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail).into_response()
        }
        _ => Json(json!({ "healthy": true })).into_response(),
    }
}

async fn readyz(State(shared): State<Shared>) -> Response {
    let report = shared.readiness.report();
    let ready = report.ready();
    let check = |state: &CheckState| json!({ "check": state.check.name(), "ok": state.missing.is_none(), "missing": state.missing });
    let mut missing: Vec<&str> = report.checks.iter().filter_map(|state| state.missing.as_deref()).collect();
    if report.stopping {
        missing.insert(0, "this instance is shutting down");
    }
    let body = json!({
        "ready": ready,
        "missing": missing,
        "checks": report.checks.iter().map(check).collect::<Vec<_>>(),
        "notes": report.notes,
    });
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(body)).into_response()
}

async fn subject(
    State(shared): State<Shared>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Response, Problem> {
    let Ok(Path((kind, value))) = path else {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "the value is not percent-encoded UTF-8"));
    };
    let entity = entity(&kind, value)?;
    let answer = shared.serving.ask(entity);
    Ok(Json(SubjectBody::new(&answer)).into_response())
}

fn entity(kind: &str, value: String) -> Result<Entity, Problem> {
    let known = EntityKind::ALL.into_iter().find(|known| known.name() == kind);
    let Some(kind) = known else {
        let names = EntityKind::ALL.map(EntityKind::name).join(", ");
        return Err(Problem::new(StatusCode::NOT_FOUND, format!("a subject's kind is one of {names}")));
    };
    if value.trim().is_empty() {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "the value is blank"));
    }
    if value.len() > VALUE_BYTES_MAX {
        let detail = format!("a value has at most {VALUE_BYTES_MAX} bytes");
        return Err(Problem::new(StatusCode::URI_TOO_LONG, detail));
    }
    Ok(Entity::new(kind, value))
}

async fn not_found() -> Problem {
    let detail = "known are /metrics, /healthz, /readyz, /v1/subjects/{kind}/{value}, /v1/checkpoints, and of \
                  each /v1/checkpoints/{generation}/verify and /export";
    Problem::new(StatusCode::NOT_FOUND, detail)
}

async fn not_allowed() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "everything here is read with GET")
}

async fn limit_time(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no answer in time").into_response(),
    }
}

const HEADERS: [(HeaderName, HeaderValue); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; sandbox"),
    ),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

async fn add_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.headers_mut().extend(HEADERS);
    response
}

async fn measure(request: Request, next: Next) -> Response {
    let watch = Stopwatch::start();
    let route = request.extensions().get::<MatchedPath>().map_or("other", |path| label(path.as_str()));
    let response = next.run(request).await;
    metrics::http_request(route, response.status().as_u16(), watch.seconds());
    response
}

/// A route as a label: one of a closed list.
fn label(route: &str) -> &'static str {
    match route {
        METRICS => METRICS,
        HEALTHZ => HEALTHZ,
        READYZ => READYZ,
        SUBJECTS => "/v1/subjects/{kind}/{value}",
        CHECKPOINTS => CHECKPOINTS,
        VERIFY => VERIFY,
        EXPORT => EXPORT,
        _ => "other",
    }
}
