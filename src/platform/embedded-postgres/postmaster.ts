import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { type Launch, launchProgram } from './launch.ts'
import type { Logger } from '../log.ts'

export interface Postmaster {
  /** Resolves with the reason when the process has ended. */
  readonly exited: Promise<string>
  /** @param withinMs The time for all steps together. Default 30 s. */
  stop(withinMs?: number): Promise<void>
  /** Returns the reason of its end: its most informative line so far. */
  complaint(): string
}

export interface PostmasterRequest {
  readonly launch: Launch
  readonly command: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly log: Logger
}

const KEPT_LINES = 20

/** Fast shutdown (sessions ended, checkpoint written), then without a checkpoint, then none at all. */
const STOP_STEPS = [
  { signal: 'SIGINT', share: 2 / 3 },
  { signal: 'SIGQUIT', share: 1 / 6 },
  { signal: 'SIGKILL', share: 1 / 6 },
] as const
const STOP_WITHIN_MS = 30_000

/** Runs the server program and copies its log to this process's. */
export function runPostmaster({ launch, command, env, log }: PostmasterRequest): Postmaster {
  const child = launchProgram(launch, command, env)
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line)
      if (lines.length > KEPT_LINES) lines.shift()
      log[logLevel(line)]({ source: 'postgres' }, line)
    })
  }
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => {
      lines.push(error.message)
      resolve(error.message)
    })
    // Not 'exit': the last lines, which contain the reason, may still arrive after it.
    child.once('close', (code, signal) => resolve(explainExit({ code, signal, lines })))
  })
  return {
    exited,
    complaint: () => findReason(lines) ?? lines.at(-1) ?? 'no reason given',
    stop: async (withinMs = STOP_WITHIN_MS) => {
      for (const { signal, share } of STOP_STEPS) {
        child.kill(signal)
        if (await settlesWithin(exited, withinMs * share)) return
      }
    },
  }
}

/** FATAL: a session was refused because the server is starting up or shutting down, or recovers from a crash. */
const REFUSED_SESSION = /^FATAL: +the database system is /

/** Of several reasons the last one ended the server: after a PANIC it tries to recover by itself. */
function findReason(lines: readonly string[]): string | undefined {
  return lines.findLast((line) => /^(FATAL|PANIC):/.test(line) && !REFUSED_SESSION.test(line))
}

interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The last lines of its log. */
  readonly lines: readonly string[]
}

/** A server that a signal has ended, or that stopped in order, gave no reason: its FATAL lines are about sessions. */
export function explainExit({ code, signal, lines }: Exit): string {
  if (signal !== null) return `signal ${signal}`
  const reason = code === 0 ? undefined : findReason(lines)
  return reason ?? `code ${code}`
}

/**
 * ERROR and FATAL concern one statement or session, whose client receives and judges them; a dying server logs LOG or
 * PANIC.
 */
function logLevel(line: string): 'error' | 'warn' | 'debug' {
  if (/^PANIC:|^LOG: .* was terminated by /.test(line)) return 'error'
  if (REFUSED_SESSION.test(line)) return 'debug'
  return /^(FATAL|WARNING):/.test(line) ? 'warn' : 'debug'
}

async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const abort = new AbortController()
  const timeout = delay(ms, false, { signal: abort.signal }).catch(() => false)
  const settled = await Promise.race([promise.then(() => true), timeout])
  abort.abort()
  return settled
}
