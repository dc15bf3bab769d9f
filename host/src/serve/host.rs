//! A host of the server: from its settings to the requests that it answers.

use super::backend::Backend;
use super::measured::MeasuredStore;
use super::metrics::Metrics;
use super::recording::Recorder;
use super::server::Server;
use super::serving::{EngineSettings, Serving};
use super::store_health::StoreHealth;
use super::stored_sessions::StoredSessions;
use super::user_limits::UserLimits;
use super::{agent, connections, dropped_logs, router};
use axum::Router;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::run::TextOptions;
use stepwell_core::session::ViewOptions;
use stepwell_serve::AgUiServer;
use stepwell_serve::parts::{CHANGE_STATE, Driver, DriverSetup, Engine, Journals, LocalEngine};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// The time that the last bytes may take once all runs are over.
const LAST_BYTES: Duration = Duration::from_secs(5);

/// A host that is open: it answers requests, and has continued the turns that were left to it. How the requests arrive is for
/// the caller to decide.
pub(crate) struct Host {
    server: Arc<Server>,
}

impl Host {
    /// Opens a host, which continues its unfinished turns.
    pub(crate) async fn open(backend: Backend, serving: Serving) -> io::Result<Self> {
        let tools = backend.registry().map_err(io::Error::other)?;
        let names = tools.definitions().iter();
        let names = names.map(|tool| tool.name.clone());
        let metrics = Metrics::new(names.chain([CHANGE_STATE.to_owned()]));
        let agent = Arc::new(agent::agent(&backend, &metrics));
        let kept = serving.sessions.clone();
        let store_health = StoreHealth::new(kept.store);
        let recorder = Recorder::new(serving.record);
        let setup = DriverSetup {
            store: Arc::new(MeasuredStore {
                store: Arc::new(store_health.clone()),
                metrics: metrics.clone(),
            }),
            // Unique to this process: under the name of another host, that host's turns would count as this one's.
            owner: format!("{}-{}", kept.label, Uuid::new_v4()),
            is_durable: kept.is_durable,
            agent: Some(Arc::clone(&agent)),
            offered: backend.offered.clone(),
            observer: Some(Arc::new(metrics.clone())),
            journals: recorder
                .clone()
                .map(|recorder| Arc::new(recorder) as Arc<dyn Journals>),
            most: serving.limits.runs,
            waiting: serving.limits.user_waiting,
            run_time: serving.limits.run_time,
            interrupt_time: serving.limits.interrupt_time,
            linger: serving.limits.linger,
            store_timeout: serving.limits.store_timeout,
            elsewhere: None,
        };
        let engine = open_engine(&serving.engine, setup).await?;
        let runs = AgUiServer::of_engine(
            Arc::clone(&engine),
            serving.trust,
            serving.keep_alive,
            serving.limits.store_timeout,
        );
        keep_logs(&runs, engine.driver().clone(), serving.limits.keep_events);
        let view = ViewOptions {
            tools: tools.clone(),
            text: TextOptions::AS_WRITTEN,
        };
        let store = Arc::clone(engine.driver().store());
        let server = Arc::new(Server {
            agent,
            sessions: StoredSessions::new(store, engine, view, kept.is_durable),
            metrics,
            runs,
            user_limits: UserLimits::new(&serving.limits),
            backend,
            serving,
            recorder,
            store_health,
        });
        Ok(Self { server })
    }

    /// Returns the router of the host.
    pub(crate) fn router(&self) -> Router {
        router::router(Arc::clone(&self.server))
    }

    /// Takes no more runs, and gives those under way time to end. Returns when no run is under way.
    pub(crate) async fn stop(&self) {
        let server = &self.server;
        server.runs.stop(server.serving.limits.grace).await;
    }
}

/// Opens the engine that the settings name.
async fn open_engine(settings: &EngineSettings, setup: DriverSetup) -> io::Result<Arc<dyn Engine>> {
    let engine: Arc<dyn Engine> = match settings {
        EngineSettings::Local => Arc::new(LocalEngine::new(setup)),
        #[cfg(feature = "restate")]
        EngineSettings::Restate(settings) => {
            Arc::new(stepwell_serve::parts::RestateEngine::new(setup, settings).await?)
        }
        #[cfg(all(test, feature = "restate"))]
        EngineSettings::Simulated(maker) => Arc::new(maker.engine(setup)),
    };
    engine.open().await.map_err(io::Error::other)?;
    Ok(engine)
}

/// Completes the logs of turns whose hosts died, and drops logs that have been kept for long enough.
fn keep_logs(runs: &AgUiServer, driver: Driver, keep_events: Option<Duration>) {
    let store = Arc::clone(driver.store());
    let complete = async move {
        if let Err(error) = driver.complete_logs().await {
            tracing::warn!(target: "stepwell", %error, "the logs of turns that are over cannot be completed");
        }
    };
    tokio::spawn(runs.let_go().clone().run_until_cancelled_owned(complete));
    if let Some(kept) = keep_events {
        let drops = dropped_logs::keep_dropping(store, kept);
        tokio::spawn(runs.let_go().clone().run_until_cancelled_owned(drops));
    }
}

/// Serves until `stop` comes; then takes no more runs, and gives those under way time to end.
pub(crate) async fn serve(
    listener: TcpListener,
    backend: Backend,
    serving: Serving,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let bounds = serving.limits.connections();
    let host = Host::open(backend, serving).await?;
    let closing = CancellationToken::new();
    let http = connections::serve(listener, host.router(), bounds, closing.clone());
    let mut http = tokio::spawn(http);
    tokio::select! {
        ended = &mut http => return Ok(ended?),
        () = stop => {}
    }
    host.stop().await;
    closing.cancel();
    match tokio::time::timeout(LAST_BYTES, &mut http).await {
        Ok(ended) => ended?,
        Err(_) => http.abort(),
    }
    Ok(())
}
