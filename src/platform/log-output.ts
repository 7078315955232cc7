import { write, writeSync } from 'node:fs'

/** The receiver of a log's lines. */
export interface LogOutput {
  write(line: string): void
}

const STDERR = 2
/** Lines are dropped while this many characters wait for a slow reader. */
const MAX_WAITING = 1_000_000
/** The pause before a write that found no room is repeated, and the time for which the exit waits for one in progress. */
const AGAIN_MS = 50
/** How long the exit waits for a slow reader. */
const EXIT_WITHIN_MS = 1000

let stderr: LogOutput | null = null

/**
 * Opens standard error: standard output belongs to the results of commands. Nothing waits for the lines to be written. Those that
 * can't be written are dropped: the terminal may be closed, the reader gone, or the disk full.
 */
export function openLogOutput(): LogOutput {
  return (stderr ??= openOutput(STDERR))
}

function openOutput(fd: number): LogOutput {
  let waiting = ''
  /** The bytes that were taken from `waiting` and are not written yet. */
  let taken = Buffer.alloc(0)
  let isWriting = false

  function writeNext(): void {
    if (taken.length === 0) {
      taken = Buffer.from(waiting)
      waiting = ''
    }
    isWriting = taken.length > 0
    if (isWriting) write(fd, taken, onWritten)
  }

  function onWritten(error: NodeJS.ErrnoException | null, bytes: number): void {
    if (isFull(error)) {
      isWriting = false
      // The exit writes it if nothing else is left to do.
      setTimeout(writeNext, AGAIN_MS).unref()
      return
    }
    taken = error === null ? taken.subarray(bytes) : Buffer.alloc(0)
    writeNext()
  }

  process.on('exit', () => {
    // A write in progress can't report its end any more, and the last lines must not overtake it.
    if (isWriting) sleep(AGAIN_MS)
    writeLast(fd, Buffer.concat([...(isWriting ? [] : [taken]), Buffer.from(waiting)]))
  })
  return {
    write(line) {
      if (waiting.length + line.length > MAX_WAITING) return
      waiting += line
      if (!isWriting && taken.length === 0) writeNext()
    },
  }
}

function writeLast(fd: number, bytes: Buffer): void {
  const endMs = performance.now() + EXIT_WITHIN_MS
  for (let rest = bytes; rest.length > 0 && performance.now() < endMs;) {
    try {
      rest = rest.subarray(writeSync(fd, rest))
    } catch (error) {
      if (!(error instanceof Error) || !isFull(error)) return
      sleep(AGAIN_MS)
    }
  }
}

/** Stops this thread; others go on. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** True if the reader is slow. */
function isFull(error: NodeJS.ErrnoException | null): boolean {
  return error?.code === 'EAGAIN'
}
