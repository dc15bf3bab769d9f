//! `GET /threads/{thread}/turns/{turn}/stream`: the log of a turn, for clients of Durable Streams.

use super::connections::CloseConnection;
use super::extract::{Asker, Path, Query};
use super::refusal::{Code, Refusal};
use super::requests::turn_key;
use super::server::Server;
use crate::access::User;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use stepwell_io::store::TurnKey;
use stepwell_serve::axum::durable_stream::{DurableRead, DurableReadError, durable_stream};
use tokio_util::sync::CancellationToken;

pub(super) async fn get(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path((thread, turn)): Path<(String, String)>,
    Query(asked): Query<DurableRead>,
    close: Option<Extension<CloseConnection>>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let close = close.map_or_else(CancellationToken::new, |Extension(close)| close.0);
    let read = async {
        let key = turn_key(&user, &thread, &turn)?;
        read(&server, &user, key, &method, &headers, &asked, close).await
    };
    read.await.unwrap_or_else(|refusal| {
        let mut response = refusal.into_response();
        let nosniff = HeaderValue::from_static("nosniff");
        let headers = response.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
        response
    })
}

async fn read(
    server: &Server,
    user: &User,
    key: TurnKey,
    method: &Method,
    headers: &HeaderMap,
    asked: &DurableRead,
    close: CancellationToken,
) -> Result<Response, Refusal> {
    let open = server.user_limits.stream(user)?;
    let read = durable_stream(&server.runs, key, method, headers, asked, close, open);
    read.await.map_err(|error| match error {
        DurableReadError::Gone => Refusal::new(Code::LogDropped, error.to_string()),
        DurableReadError::Query(message) => Refusal::new(Code::InvalidQuery, message),
        DurableReadError::Store(error) => error.into(),
    })
}
