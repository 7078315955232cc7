import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { type Launch, launchProgram } from './launch.ts'
import type { Logger } from '../log.ts'

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Postmaster {
  readonly exited: Promise<Exit>
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
  const exited = new Promise<Exit>((resolve) => {
    child.once('error', (error) => {
      lines.push(error.message)
      resolve({ code: null, signal: null })
    })
    // Not 'exit': the last lines, which contain the reason, may still arrive after it.
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  return {
    exited,
    complaint: () => lines.find((line) => /^(FATAL|PANIC):/.test(line)) ?? lines.at(-1) ?? 'no reason given',
    stop: async (withinMs = STOP_WITHIN_MS) => {
      for (const { signal, share } of STOP_STEPS) {
        child.kill(signal)
        if (await settlesWithin(exited, withinMs * share)) return
      }
    },
  }
}

/**
 * ERROR and FATAL concern one statement or session, whose client receives and judges them; a dying server logs LOG or
 * PANIC.
 */
function logLevel(line: string): 'error' | 'warn' | 'debug' {
  if (/^PANIC:|^LOG: .* was terminated by /.test(line)) return 'error'
  if (/^FATAL: +the database system is /.test(line)) return 'debug' // It is starting up or shutting down.
  return /^(FATAL|WARNING):/.test(line) ? 'warn' : 'debug'
}

async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const abort = new AbortController()
  const timeout = delay(ms, false, { signal: abort.signal }).catch(() => false)
  const settled = await Promise.race([promise.then(() => true), timeout])
  abort.abort()
  return settled
}
