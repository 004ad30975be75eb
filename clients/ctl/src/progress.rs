//! A bar on stderr for long work; nothing where stderr is no terminal.

use std::{io::IsTerminal as _, time::Duration};

use ccd_client::{Client, ClientError, EventStream};
use ccd_protocol::{
    Object,
    events::{SubscribeParams, Topic},
};
use indicatif::{ProgressBar, ProgressStyle};

/// Runs `work` and shows the progress events that carry `token`.
pub(crate) async fn shown<T>(
    client: &Client,
    token: &str,
    work: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, ClientError> {
    if !std::io::stderr().is_terminal() {
        return work.await;
    }
    let params = SubscribeParams { topics: vec![Topic::IndexProgress], ..SubscribeParams::default() };
    // Progress is a courtesy: without events the work goes on.
    let Ok(mut events) = client.subscribe(&params).await else { return work.await };
    let bar = ProgressBar::new(0).with_style(
        ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} files {elapsed}").expect("the template is constant"),
    );
    bar.set_message("indexing");
    bar.enable_steady_tick(Duration::from_millis(200));
    let result = tokio::select! {
        result = work => result,
        // Ends never, so that the work decides.
        never = follow(&mut events, &bar, token) => match never {},
    };
    bar.finish_and_clear();
    let _ = client.unsubscribe(events).await;
    result
}

async fn follow(events: &mut EventStream, bar: &ProgressBar, token: &str) -> std::convert::Infallible {
    while let Some(event) = events.next().await {
        // A run that another caller started goes by that caller's token and is the same work.
        let ours = event.token.as_deref().is_none_or(|of| of == token);
        if ours && let (Some(done), Some(total)) = (number(&event.data, "done"), number(&event.data, "total")) {
            // After the last file the names are still to be resolved, and that is no standstill.
            bar.set_message(if done < total { "indexing" } else { "resolving" });
            bar.set_length(total);
            bar.set_position(done);
        }
    }
    std::future::pending().await
}

fn number(data: &Object, field: &str) -> Option<u64> {
    data.get(field)?.as_u64()
}
