import { type OwnStats, findWrongStat, isOwnStats } from '../../mxedges/sessions/machine.ts'
import type { Log } from '../log.ts'
import { type CommandLine, type HookResult, runHook } from './run-hook.ts'

/**
 * Returns a function that runs the operator's `stats`. It resolves with null if there is no such command, or if its
 * output can't be used: the log then contains the reason, once until it changes.
 */
export function createStatsReader(commandLine: CommandLine | undefined, log: Log): () => Promise<OwnStats | null> {
  if (commandLine === undefined) return async () => null
  let logged: string | null = null
  return async () => {
    const read = parseStats(commandLine[0], await runHook(commandLine))
    const reason = 'reason' in read ? read.reason : null
    if (reason !== null && reason !== logged) log('stats left out', { reason })
    logged = reason
    return 'stats' in read ? read.stats : null
  }
}

const MAX_QUOTED = 200

function parseStats(
  program: string,
  { code, output, printed }: HookResult,
): { readonly stats: OwnStats } | { readonly reason: string } {
  if (code !== 0) return { reason: `${program} ended with ${code}: ${output.trim().slice(-MAX_QUOTED)}` }
  const text = printed.trim()
  const stats = parseJson(text)
  if (stats === undefined) return { reason: `${program} printed no JSON: ${text.slice(0, MAX_QUOTED)}` }
  if (isOwnStats(stats)) return { stats }
  return { reason: `${program} printed stats that the agent can't report: ${findWrongStat(stats)}` }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
