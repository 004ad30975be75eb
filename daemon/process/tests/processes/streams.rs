//! Pipes that are full, held, flooded, and not read.

use std::time::{Duration, Instant};

use ccd_process::{Exit, InputError, Ladder, Step};
use tokio::io::AsyncReadExt as _;

use crate::world::{PATIENCE, launcher, python, read_all, read_line, sh};

#[tokio::test]
async fn a_flood_on_stderr_does_not_hold_up_the_answer() {
    let script = "import sys\nfor _ in range(160): sys.stderr.write(('x' * 127 + '\\n') * 512)\nsys.stderr.write('the last line\\n')\nsys.stderr.flush()\nprint('answer', flush=True)";
    let mut child = launcher("flood").spawn(&python(script)).await.unwrap();
    let begun = Instant::now();
    assert_eq!(read_all(&mut child).await, "answer\n");
    let tail = child.stderr();
    assert!(tail.ended_within(PATIENCE).await);
    println!("an answer after {} MiB of stderr: {:?} (promised: 2 s)", tail.total() >> 20, begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(tail.total() >= 10 << 20, "{}", tail.total());
    assert_eq!((tail.bytes().len(), tail.lines(1)), (64 << 10, vec!["the last line".to_owned()]));
}

#[tokio::test]
async fn who_does_not_read_holds_up_nobody_else() {
    let launcher = launcher("deaf");
    let mut spec = sh("exec sleep 60");
    spec.queue = 1 << 20;
    spec.stall = Duration::from_secs(2);
    let deaf = launcher.spawn(&spec).await.unwrap();
    let mut listening = launcher.spawn(&sh("cat")).await.unwrap();
    let input = deaf.input();
    let piece = vec![b'x'; 200 << 10];
    let full = (0..20).map(|_| input.try_send(piece.clone())).find(Result::is_err);
    assert_eq!(full, Some(Err(InputError::Full)));
    assert!(input.waiting() <= 1 << 20);
    let begun = Instant::now();
    assert_eq!(input.send(piece.clone(), Duration::from_millis(100)).await, Err(InputError::Full));
    println!("refused after {:?} (promised: 100 ms)", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_millis(500));

    let begun = Instant::now();
    listening.input().try_send(b"you hear me\n".to_vec()).unwrap();
    assert_eq!(read_line(&mut listening).await, "you hear me");
    println!("the other answered after {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(1));

    // It is given up in the end, and who still waits hears of it.
    assert_eq!(input.send(piece.clone(), PATIENCE).await, Err(InputError::Stalled));
    assert_eq!(input.try_send(piece), Err(InputError::Stalled));
    let stopped = deaf.stop(async {}, Ladder::SERVER).await;
    assert_eq!(stopped.step, Step::Terminated);
}

#[tokio::test]
async fn a_full_input_does_not_hold_up_the_stop() {
    let child = launcher("full").spawn(&sh("trap '' TERM; while :; do sleep 0.05; done")).await.unwrap();
    child.input().try_send(vec![b'x'; 10 << 20]).unwrap();
    let stopped = child.stop(std::future::pending::<()>(), Ladder::SERVER).await;
    println!("{stopped:?} (promised: 5 s)");
    assert_eq!((stopped.step, stopped.exit), (Step::Killed, Some(Exit::Signal(9))));
    assert!(stopped.took < Duration::from_secs(6));
}

#[tokio::test]
async fn what_waits_goes_out_before_the_input_is_closed() {
    let mut child = launcher("close").spawn(&sh("exec wc -c")).await.unwrap();
    let input = child.input();
    for _ in 0..50 {
        input.try_send(vec![b'x'; 10_000]).unwrap();
    }
    input.close();
    assert_eq!(input.try_send(vec![1]), Err(InputError::Closed));
    assert_eq!(read_all(&mut child).await.trim(), "500000");
}

#[tokio::test]
async fn a_child_that_is_gone_takes_no_input() {
    let mut child = launcher("gone").spawn(&sh("exit 0")).await.unwrap();
    read_all(&mut child).await;
    child.exit().within(PATIENCE).await.unwrap();
    let input = child.input();
    let mut sent = Ok(());
    for _ in 0..1000 {
        sent = input.send(vec![b'x'; 1000], PATIENCE).await;
        if sent.is_err() {
            break;
        }
    }
    assert_eq!(sent, Err(InputError::Closed));
}

#[tokio::test]
async fn large_answers_come_whole() {
    let script = "import sys\nsys.stdout.buffer.write(b'y' * (20 << 20))";
    let mut child = launcher("large").spawn(&python(script)).await.unwrap();
    let mut output = child.take_output().unwrap();
    let mut all = Vec::new();
    tokio::time::timeout(PATIENCE, output.read_to_end(&mut all)).await.unwrap().unwrap();
    assert_eq!(all.len(), 20 << 20);
}

#[tokio::test]
async fn many_at_once_have_their_own_pipes() {
    let launcher = launcher("many");
    let begun = Instant::now();
    let children = (0..30).map(|number| {
        let launcher = launcher.clone();
        tokio::spawn(async move {
            let mut child = launcher.spawn(&sh("cat")).await.unwrap();
            child.input().try_send(format!("{number}").into_bytes()).unwrap();
            // If another child had inherited this end, it would not end.
            child.input().close();
            assert_eq!(read_all(&mut child).await, format!("{number}"));
        })
    });
    for child in children.collect::<Vec<_>>() {
        child.await.unwrap();
    }
    println!("30 processes started, asked and ended in {:?}", begun.elapsed());
}
