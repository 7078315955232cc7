import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { uptime } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { hookLimitsMs } from '../../mxedges/commands/time-limits.ts'
import { type CommandLine, killGroup, runHookOrThrow } from './run-hook.ts'
import type { OnPoint } from '../points.ts'
import type { State } from '../state.ts'

/** The object of a hook: two hooks with the same subject never overlap. */
export type Subject =
  | 'packages'
  | `service ${string}`
  | `port ${string}`
  | 'access points'
  | 'configuration'
  | 'support'
  | 'reboot'

export interface LastingHook {
  readonly subject: Subject
  readonly timeoutMs?: number
  /** The program's input, as JSON. */
  readonly input?: object
}

/** Runs hooks that must never overlap, even if the agent is killed while one runs. */
export interface LastingHooks {
  /** Waits for a hook that an earlier process of the agent began, and kills it when its time is over. */
  awaitEarlier(subject: Subject): Promise<void>
  /** @throws Error with the last words of a hook that fails. */
  run(hook: LastingHook, commandLine: CommandLine): Promise<void>
  /**
   * Does the work when no other hook with the subject runs.
   * @param work Calls its parameter with the process group of the program that it starts.
   */
  guard<T>(hook: LastingHook, work: (onStart: (group: number) => Promise<void>) => Promise<T>): Promise<T>
  /**
   * Runs a hook whose effect must not happen twice. A second call for the same command only waits until the hook has
   * ended.
   * @throws Error with the last output of a hook that fails.
   */
  runOnce(commandId: string, hook: LastingHook, commandLine: CommandLine): Promise<void>
}

/** A hook that has begun, as the agent remembers it on disk. Its process leads the group and gives it its id. */
interface RunningHook {
  readonly group: number
  /** Distinguishes the leader from a later process with the same id. Null if the system has no /proc. */
  readonly start: string | null
  /** The boot of the machine; null as above. */
  readonly boot: string | null
  /** By the wall clock: only counts if there is no uptime. */
  readonly began_ms: number
  /** The uptime of the machine when it began, which no setting of the clock changes. Earlier versions of the agent recorded none. */
  readonly began_uptime_ms?: number
  readonly timeout_ms: number
}

const POLL_MS = 200

/** Subjects contain names from the network, which may be no names of files. */
function fileOf(subject: Subject): string {
  // Earlier versions of the agent had only this file. One may have begun the installation of this version.
  if (subject === 'packages') return 'running-hook.json'
  return `running-hook-${digestOf(subject)}.json`
}

function digestOf(subject: Subject): string {
  return createHash('sha256').update(subject).digest('hex').slice(0, 32)
}

export interface LastingHookParts {
  readonly state: State
  readonly onPoint: OnPoint
}

export function createLastingHooks(parts: LastingHookParts): LastingHooks {
  const { state, onPoint } = parts
  /** By subject: the end of the last hook. */
  const last = new Map<Subject, Promise<unknown>>()

  async function guard<T>(
    { subject, timeoutMs = hookLimitsMs.control }: LastingHook,
    work: (onStart: (group: number) => Promise<void>) => Promise<T>,
  ): Promise<T> {
    const guarded = async (): Promise<T> => {
      await awaitEarlier(parts, subject)
      try {
        return await work((group) => record(parts, group, { subject, timeoutMs }))
      } finally {
        await state.remove(fileOf(subject))
      }
    }
    const ended = (last.get(subject) ?? Promise.resolve()).then(guarded, guarded)
    last.set(subject, ended)
    try {
      return await ended
    } finally {
      if (last.get(subject) === ended) last.delete(subject)
    }
  }

  const onBegun = (): void => onPoint('hook begun')
  return {
    awaitEarlier: (subject) => awaitEarlier(parts, subject),
    guard,
    run: (hook, commandLine) =>
      guard(hook, (onStart) => runHookOrThrow(commandLine, { ...optionsOf(hook), onStart, onBegun })),
    async runOnce(commandId, hook, commandLine) {
      const file = `begun-${digestOf(hook.subject)}`
      if ((await state.read(file)) === commandId) return awaitEarlier(parts, hook.subject)
      const begun = { path: state.pathOf(file), text: commandId }
      await guard(hook, (onStart) => runHookOrThrow(commandLine, { ...optionsOf(hook), onStart, onBegun, begun }))
    },
  }
}

function optionsOf({ timeoutMs = hookLimitsMs.control, input }: LastingHook) {
  return { timeoutMs, ...(input !== undefined && { input }) }
}

async function awaitEarlier({ state, onPoint }: LastingHookParts, subject: Subject): Promise<void> {
  const file = fileOf(subject)
  const text = await state.read(file)
  if (text === null) return
  const hook = JSON.parse(text) as RunningHook
  const untilMs = performance.now() + Math.max(0, hook.timeout_ms - ranMsOf(hook))
  for (let isAwaited = false, isKilled = false; await isRunning(hook);) {
    if (!isAwaited) onPoint('earlier hook awaited')
    isAwaited = true
    if (!isKilled && performance.now() >= untilMs) {
      // Without /proc the group may belong to another program by now.
      if (hook.start === null) break
      killGroup(hook.group)
      isKilled = true
    }
    await wait(POLL_MS)
  }
  await state.remove(file)
}

function ranMsOf({ began_ms, began_uptime_ms }: RunningHook): number {
  const ranMs = began_uptime_ms === undefined ? Date.now() - began_ms : uptimeMs() - began_uptime_ms
  return Math.max(0, ranMs)
}

function uptimeMs(): number {
  return uptime() * 1000
}

async function record(
  { state, onPoint }: LastingHookParts,
  group: number,
  { subject, timeoutMs }: { readonly subject: Subject; readonly timeoutMs: number },
): Promise<void> {
  const [stat, boot] = await Promise.all([readStat(group), readBoot()])
  const hook: RunningHook = {
    group,
    start: stat?.start ?? null,
    boot,
    began_ms: Date.now(),
    began_uptime_ms: uptimeMs(),
    timeout_ms: timeoutMs,
  }
  await state.write(fileOf(subject), JSON.stringify(hook))
  onPoint('hook recorded')
}

/** True while a process of the group lives: the children of a killed leader may still change the machine. */
async function isRunning({ group, start, boot }: RunningHook): Promise<boolean> {
  if (start === null) return isGroup(group)
  if (boot !== (await readBoot())) return false
  const leader = await readStat(group)
  if (leader !== null && leader.start !== start) return false
  if (!isGroup(group)) return false
  // The group also exists while its processes are not yet reaped.
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const stats = await Promise.all(ids.map(readStat))
  return stats.some((stat) => stat !== null && stat.group === group && stat.state !== 'Z' && stat.state !== 'X')
}

function isGroup(group: number): boolean {
  try {
    process.kill(-group, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

interface Stat {
  readonly state: string | undefined
  readonly group: number
  readonly start: string | null
}

/** Returns null for a process that does not exist. */
async function readStat(pid: number): Promise<Stat | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (text === null) return null
  // The name of the program, in parentheses, may contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0], group: Number(fields[2]), start: fields[19] ?? null }
}

function readBoot(): Promise<string | null> {
  return readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
    (text) => text.trim(),
    () => null,
  )
}
