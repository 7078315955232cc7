import { readFile, readdir } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { type CommandLine, killGroup, runHookOrThrow } from './run-hook.ts'
import type { State } from './state.ts'

/** Runs the hooks that take long and must never overlap, even if the agent is killed while one runs. */
export interface LastingHooks {
  /** Waits for a hook that an earlier process of the agent began, and kills it when its time is over. */
  awaitEarlier(): Promise<void>
  /** @throws Error with the last words of a hook that fails. */
  run(commandLine: CommandLine, timeoutMs: number): Promise<void>
}

/** A hook that has begun, as the agent remembers it on disk. Its process leads the group and gives it its id. */
interface RunningHook {
  readonly group: number
  /** Tells the leader from a later process with the same id. Null where the system has no /proc. */
  readonly start: string | null
  /** The boot of the machine; null as above. */
  readonly boot: string | null
  /** Service time. */
  readonly began_ms: number
  readonly timeout_ms: number
}

const FILE = 'running-hook.json'
const POLL_MS = 200

export function createLastingHooks(state: State): LastingHooks {
  async function awaitEarlier(): Promise<void> {
    const text = await state.read(FILE)
    if (text === null) return
    const hook = JSON.parse(text) as RunningHook
    // The clock may have been set since.
    const ranMs = Math.max(0, Date.now() - hook.began_ms)
    const untilMs = performance.now() + Math.max(0, hook.timeout_ms - ranMs)
    for (let isKilled = false; await isRunning(hook);) {
      if (!isKilled && performance.now() >= untilMs) {
        // Without /proc the group may be that of another program by now.
        if (hook.start === null) break
        killGroup(hook.group)
        isKilled = true
      }
      await wait(POLL_MS)
    }
    await state.remove(FILE)
  }
  return {
    awaitEarlier,
    async run(commandLine, timeoutMs) {
      await awaitEarlier()
      try {
        await runHookOrThrow(commandLine, { timeoutMs, onStart: (group) => record(state, group, timeoutMs) })
      } finally {
        await state.remove(FILE)
      }
    },
  }
}

async function record(state: State, group: number, timeoutMs: number): Promise<void> {
  const [stat, boot] = await Promise.all([readStat(group), readBoot()])
  const hook: RunningHook = {
    group,
    start: stat?.start ?? null,
    boot,
    began_ms: Date.now(),
    timeout_ms: timeoutMs,
  }
  await state.write(FILE, JSON.stringify(hook))
}

/** True while a process of the group lives: what a killed leader has started may still change the machine. */
async function isRunning({ group, start, boot }: RunningHook): Promise<boolean> {
  if (start === null) return isGroup(group)
  if (boot !== (await readBoot())) return false
  const leader = await readStat(group)
  if (leader !== null && leader.start !== start) return false
  if (!isGroup(group)) return false
  // The group also exists while nobody has reaped its processes.
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
