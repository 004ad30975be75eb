//! `ast.edit`: a rewrite of every match, prepared and shown. Nothing of it is written.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use ccd_corpus::{Cancel, Entry, Skipped};
use ccd_edit::{Draft, StageLimits, StagedFile, StagedSite, StoreFull};
use ccd_grammars::{LanguageId, ParseError};
use ccd_protocol::{ErrorKind, RpcError, ast as wire, events::Topic};
use ccd_structural::{FindError, Nested, RewriteError, Rewritten, Template};
use ccd_text::{LineIndex, clip};
use serde::Serialize;

use super::{
    Job,
    asked::{Asked, asked},
    compiled, epoch, limits, refusal, unable, until, view,
};
use crate::{
    api::{edit::id, read::max_bytes, workspace::token},
    daemon::Daemon,
    rpc::{call::Call, params::wrong},
    search::{Bounds, Compiled, Scope, each, is_of_another, parse_limits},
    workspaces::Target,
};

/// Bytes of a template.
const TEMPLATE: usize = 1 << 20;
/// Bytes of a file that is looked at only to say that it is too large.
const LOOKED_AT: u64 = 64 << 20;
/// The most seconds that a stage is kept.
const MOST_TTL_S: u64 = 3600;
/// Runs that may fill the store together.
const FULL_RUNS: usize = 4;
/// Warnings that are told.
const WARNINGS: usize = 50;

/// The room for stages.
fn stage_limits(daemon: &Daemon) -> StageLimits {
    let run_bytes = usize::try_from(daemon.settings().config.stages.mib_per_run.0 << 20).unwrap_or(usize::MAX);
    StageLimits { run_bytes, all_bytes: run_bytes.saturating_mul(FULL_RUNS) }
}

/// What became of one file.
enum Drafted {
    /// Nothing in it changes.
    Same,
    /// It was not searched.
    Skipped(&'static str),
    /// There was no time for it.
    Late,
    /// The staging is refused.
    Refused(Box<RpcError>),
    /// It changes.
    File(Box<Change>),
}

struct Change {
    file: StagedFile,
    sites: Vec<StagedSite>,
    nested_skipped: u64,
    warnings: Vec<String>,
    diff: String,
}

/// A template by grammar.
struct Rewrite {
    compiled: Compiled,
    templates: Vec<(LanguageId, Template)>,
    nested: Nested,
}

pub(in crate::api) async fn edit(call: Call, params: wire::EditParams) -> Result<wire::Stage, RpcError> {
    let shown = max_bytes(params.max_bytes)?;
    let run = id("run_id", params.run_id.as_deref())?;
    let token = token(params.progress.clone())?;
    let ttl = match params.ttl_s {
        Some(0) => return Err(wrong("ttl_s", format!("1 to {MOST_TTL_S} seconds"))),
        asked => asked.unwrap_or(call.daemon.settings().config.stages.ttl_s.0).min(MOST_TTL_S),
    };
    if params.rewrite.len() > TEMPLATE {
        return Err(wrong("rewrite", format!("at most {TEMPLATE} bytes")));
    }
    let until = until::<wire::Edit>(&call, params.deadline_ms)?;
    let asked = asked!(params, false)?;
    let compiled = compiled(&call, &asked).await?;
    let mut templates = Vec::new();
    for (language, query) in compiled.queries() {
        let template = Template::new(&params.rewrite, query).map_err(|error| refusal::query(error, &params.rewrite))?;
        templates.push((language, template));
    }
    let nested = match params.nested.unwrap_or_default() {
        wire::Nested::Outermost => Nested::Outermost,
        wire::Nested::Recurse => Nested::Recurse,
    };
    let rewrite = Rewrite { compiled, templates, nested };
    let target = call.target(asked.at.clone()).await?;
    let root = Arc::clone(&target.workspace.path);
    let daemon = Arc::clone(&call.daemon);
    let draft = call.search(move |cancel: &Cancel| {
        let workspace = Arc::clone(&target.workspace);
        let limits = limits(&daemon, &workspace);
        let job = Job { daemon: &daemon, workspace: &workspace, limits, cancel, until };
        job.drafted(&target, &asked, &rewrite, run, token.as_ref())
    });
    let draft = draft.await??;
    if draft.files.is_empty() {
        return Ok(nothing(draft));
    }
    let stage =
        call.daemon.edits.stages.put(draft, Duration::from_secs(ttl), stage_limits(&call.daemon)).map_err(refusal::full)?;
    announce(&call.daemon, &root, &stage, Duration::from_secs(ttl));
    Ok(view::stage(&stage, shown, view::SITES))
}

/// The answer where nothing changes; nothing is kept.
fn nothing(draft: Draft) -> wire::Stage {
    wire::Stage {
        stage_id: None,
        run_id: draft.run,
        root: draft.root,
        files: Vec::new(),
        sites: 0,
        matches: Vec::new(),
        nested_skipped: draft.nested_skipped,
        preview: String::new(),
        truncated: false,
        warnings: draft.warnings,
        expires_at: None,
        epoch: draft.epoch,
    }
}

/// Tells of a stage, now and when its time is over.
fn announce(daemon: &Arc<Daemon>, root: &Arc<str>, stage: &Arc<ccd_edit::Stage>, ttl: Duration) {
    #[derive(Serialize)]
    struct Data<'a> {
        root: &'a str,
        stage_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        run_id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        files: Option<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        sites: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<u64>,
    }
    let data = Data {
        root,
        stage_id: &stage.id,
        run_id: stage.draft.run.as_deref(),
        files: Some(stage.draft.files.len()),
        sites: Some(stage.draft.sites),
        expires_at: Some(stage.expires_at),
    };
    daemon.publish(Topic::StageCreated, Some(root), None, &data);
    let (id, run) = (stage.id.clone(), stage.draft.run.clone());
    let (daemon, root) = (Arc::downgrade(daemon), Arc::clone(root));
    tokio::spawn(async move {
        // A moment more: the stage is over by then by its own clock.
        tokio::time::sleep(ttl + Duration::from_millis(20)).await;
        let Some(daemon) = daemon.upgrade() else { return };
        // One that was accepted or discarded did not expire.
        if daemon.edits.stages.expired(&id) {
            let data = Data { root: &root, stage_id: &id, run_id: run.as_deref(), files: None, sites: None, expires_at: None };
            daemon.publish(Topic::StageExpired, Some(&root), None, &data);
        }
    });
}

impl Job<'_> {
    fn drafted(
        &self,
        target: &Target,
        asked: &Asked,
        rewrite: &Rewrite,
        run: Option<String>,
        token: Option<&Arc<str>>,
    ) -> Result<Draft, RpcError> {
        let scope = self.scope(target, asked)?;
        self.not_too_large(&scope, rewrite)?;
        let limit = stage_limits(self.daemon).run_bytes;
        let grown = AtomicUsize::new(0);
        let drafted = self.bounded(token, |bounds| {
            each(&scope.files, bounds, |entry| {
                if grown.load(Relaxed) > limit {
                    return Drafted::Same;
                }
                let drafted = self.one(entry, rewrite, bounds);
                if let Drafted::File(change) = &drafted {
                    grown.fetch_add(change.file.text.len() + change.diff.len(), Relaxed);
                }
                drafted
            })
        });
        if self.cancel.is_cancelled() {
            return Err(refusal::cancelled());
        }
        let grown = grown.load(Relaxed);
        if grown > limit {
            return Err(refusal::full(StoreFull { bytes: grown, limit, pending: Vec::new() }));
        }
        let mut draft = Draft { root: self.workspace.path.to_string(), run, epoch: epoch(self.workspace), ..Draft::default() };
        let mut skipped: BTreeMap<&str, u64> = scope
            .skipped
            .iter()
            .filter(|(reason, _)| !["ignored", "too_large"].contains(*reason))
            .map(|(r, n)| (*r, *n))
            .collect();
        let late = drafted.iter().filter(|one| matches!(one, None | Some(Drafted::Late))).count() as u64;
        for one in drafted.into_iter().flatten() {
            match one {
                Drafted::Same | Drafted::Late => {}
                Drafted::Skipped(reason) => *skipped.entry(reason).or_default() += 1,
                Drafted::Refused(error) => return Err(*error),
                Drafted::File(change) => {
                    draft.sites += change.file.sites;
                    draft.nested_skipped += change.nested_skipped;
                    let room = view::SITES.saturating_sub(draft.shown.len());
                    draft.shown.extend(change.sites.into_iter().take(room));
                    draft.warnings.extend(change.warnings);
                    draft.diff.push_str(&change.diff);
                    draft.files.push(change.file);
                }
            }
        }
        if late > 0 {
            let total = scope.files.len() as u64;
            return Err(refusal::incomplete("deadline", total - late, total));
        }
        if skipped.contains_key("pattern_unparsable") {
            draft.warnings.extend(unable(&rewrite.compiled));
        }
        if !skipped.is_empty() {
            let reasons: Vec<String> = skipped.iter().map(|(reason, files)| format!("{reason} {files}")).collect();
            draft.warnings.push(format!("Not searched, by reason: {}.", reasons.join(", ")));
        }
        if draft.warnings.len() > WARNINGS {
            let more = draft.warnings.len() - WARNINGS;
            draft.warnings.truncate(WARNINGS);
            draft.warnings.push(format!("{more} more warnings."));
        }
        Ok(draft)
    }

    /// A file over the cap that may hold a match would stay as it is while all others change.
    fn not_too_large(&self, scope: &Scope, rewrite: &Rewrite) -> Result<(), RpcError> {
        let root = self.workspace.root();
        for (rel, language) in &scope.too_large {
            let Some(query) = rewrite.compiled.query(*language) else { continue };
            let size = match root.read(rel, LOOKED_AT) {
                Ok(file) if !query.may_match(&file.bytes) => continue,
                Ok(file) => file.bytes.len() as u64,
                Err(ccd_files::FileError::TooLarge { size, .. }) => size,
                Err(_) => continue,
            };
            let path = self.shown(rel.to_str().unwrap_or_default());
            let limit = self.limits.max_file_bytes;
            return Err(RpcError::new(
                ErrorKind::TooLarge,
                format!(
                    "{path} has {size} bytes and may hold a match; the limit of a rewrite is {limit} (edit.patch_file_mib). Leave it out with `paths` or `path_glob`. Nothing was staged."
                ),
            )
            .with("path", path)
            .with("size", size)
            .with("limit", limit));
        }
        Ok(())
    }

    fn one(&self, entry: &Entry, rewrite: &Rewrite, bounds: &Bounds<'_>) -> Drafted {
        let rel = entry.rel.to_str().unwrap_or_default();
        let refused = |error: RpcError| Drafted::Refused(Box::new(error));
        let Some(query) = rewrite.compiled.query(entry.language) else { return Drafted::Skipped("pattern_unparsable") };
        let Some((_, template)) = rewrite.templates.iter().find(|(language, _)| *language == entry.language) else {
            return Drafted::Skipped("pattern_unparsable");
        };
        let source = match ccd_corpus::read(&self.workspace.root(), &entry.rel, &self.limits) {
            Ok(source) => source,
            Err(Skipped::NotFound) => return Drafted::Same,
            Err(skipped @ Skipped::TooDeep { .. }) => {
                let bytes = self.workspace.root().read(&entry.rel, self.limits.max_file_bytes);
                return match bytes.is_ok_and(|file| query.may_match(&file.bytes)) {
                    true => self.unparsed(rel, ParseError::TooDeep),
                    false => Drafted::Skipped(skipped.reason()),
                };
            }
            Err(skipped) => return Drafted::Skipped(skipped.reason()),
        };
        if is_of_another(entry.language, &source.bytes) || !query.may_match(&source.bytes) {
            return Drafted::Same;
        }
        let over = || bounds.is_over();
        let limits = parse_limits(&self.limits);
        let tree = match self.daemon.trees.of(entry.language, source.version, &source.bytes, limits, &over) {
            Ok(tree) => tree,
            Err(error) => return self.unparsed(rel, error),
        };
        let Ok(text) = std::str::from_utf8(&source.bytes) else {
            return match query.find(query.searched(), &tree, &source.bytes, &over) {
                Ok(found) if found.matches.is_empty() => Drafted::Same,
                Ok(_) => {
                    let path = self.shown(rel);
                    let message = format!(
                        "{path} holds a match and is not UTF-8 text, so it cannot be rewritten. Leave it out with `paths` or `path_glob`. Nothing was staged."
                    );
                    refused(RpcError::new(ErrorKind::NotText, message).with("path", path))
                }
                Err(FindError::Budget { steps }) => refused(refusal::budget(self.shown(rel), steps)),
                Err(FindError::Cancelled) => Drafted::Late,
            };
        };
        match ccd_structural::rewrite(query, template, rewrite.nested, &tree, text, &over) {
            Ok(rewritten) => self.change(entry, source.version, text, rewritten),
            Err(RewriteError::Find(FindError::Budget { steps })) => refused(refusal::budget(self.shown(rel), steps)),
            Err(RewriteError::Find(FindError::Cancelled)) => Drafted::Late,
            Err(RewriteError::Parse(error)) => self.unparsed(rel, error),
            Err(RewriteError::SyntaxErrors { line, what }) => {
                refused(self.broken(ErrorKind::ResultHasSyntaxErrors, rel, line, what))
            }
            Err(RewriteError::CaptureBrokenApart { line, what }) => {
                refused(self.broken(ErrorKind::CaptureBrokenApart, rel, line, what))
            }
        }
    }

    fn unparsed(&self, rel: &str, error: ParseError) -> Drafted {
        let path = self.shown(rel);
        match error {
            ParseError::Cancelled => Drafted::Late,
            ParseError::TooDeep => Drafted::Refused(Box::new(refusal::too_deep(path, self.limits.max_depth))),
            ParseError::Deadline => {
                let ms = u64::try_from(self.limits.parse_deadline.as_millis()).unwrap_or(u64::MAX);
                let message = format!(
                    "{path} did not parse within {ms} ms (index.parse_deadline_ms), and it may hold a match. Leave it out with `paths` or `path_glob`. Nothing was staged."
                );
                let error = RpcError::new(ErrorKind::SearchIncomplete, message);
                Drafted::Refused(Box::new(
                    error.with("reason", "parse_deadline").with("path", path).with("done", 0).with("total", 1),
                ))
            }
        }
    }

    fn broken(&self, kind: ErrorKind, rel: &str, line: usize, what: String) -> RpcError {
        let path = self.shown(rel);
        let message = format!("{path}: {}. Nothing was staged.", what.trim_end_matches('.'));
        RpcError::new(kind, message).with("path", path).with("line", line).with("what", what)
    }

    fn change(&self, entry: &Entry, version: ccd_text::Version, text: &str, rewritten: Rewritten) -> Drafted {
        if rewritten.text == text {
            return Drafted::Same;
        }
        let rel = entry.rel.to_str().unwrap_or_default();
        let lines = LineIndex::new(text.as_bytes());
        let sites = rewritten.sites.iter().take(view::SITES).map(|site| StagedSite {
            rel: entry.rel.clone(),
            line: lines.place(text.as_bytes(), site.range.start).line,
            text: clip(&text.as_bytes()[site.range.clone()], view::SITE),
        });
        let warnings = rewritten.warnings.iter().map(|warning| format!("{rel}: {warning}"));
        let new: Arc<[u8]> = rewritten.text.into_bytes().into();
        Drafted::File(Box::new(Change {
            sites: sites.collect(),
            nested_skipped: rewritten.nested_skipped as u64,
            warnings: warnings.collect(),
            diff: ccd_text::diff(Some(text.as_bytes()), Some(&new)).unified(rel),
            file: StagedFile {
                path: PathBuf::from(&*self.workspace.path).join(&entry.rel),
                rel: entry.rel.clone(),
                sites: rewritten.sites.len() as u64,
                version,
                length: text.len(),
                text: new,
            },
        }))
    }
}
