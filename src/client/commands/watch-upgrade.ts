import { setTimeout as delay } from 'node:timers/promises'
import { type Api, type JsonObject, objectOf, rowsOf } from '../api.ts'
import { CommandError } from '../exit-codes.ts'
import { bar, textOf } from '../output.ts'
import type { Session } from '../session.ts'
import { followStream } from '../stream.ts'

/** How often an upgrade is read while there is no stream. */
const POLL_MS = 2000

/** Statuses in which nothing happens to the devices of a site any more. */
const ENDED = new Set(['cancelled', 'completed', 'failed'])

/** States of targets, in the order in which a device passes them. */
const STATES = [
  'scheduled',
  'download_requested',
  'downloading',
  'downloaded',
  'reboot_in_progress',
  'rebooted',
  'upgraded',
  'failed',
  'skipped',
  'cancelled',
] as const

/** How far an upgrade is. */
interface Progress {
  readonly total: number
  readonly counts: Readonly<Record<(typeof STATES)[number], number>>
  readonly hasEnded: boolean
}

export function progressOf(upgrade: JsonObject): Progress {
  const sites = rowsOf(upgrade['upgrades'] ?? []).map(({ upgrade: ofSite }) => objectOf(ofSite))
  const targets = sites.map((site) => objectOf(site['targets']))
  const count = (state: string): number =>
    targets.reduce((sum, each) => sum + (Array.isArray(each[state]) ? each[state].length : 0), 0)
  const counts = Object.fromEntries(STATES.map((state) => [state, count(state)])) as Progress['counts']
  return {
    total: targets.reduce((sum, { total }) => sum + Number(total ?? 0), 0),
    counts,
    hasEnded: sites.every(({ status }) => ENDED.has(textOf(status))),
  }
}

interface WatchedUpgrade {
  /** The channel of the organization's upgrades, which is also their path under /api/v1. */
  readonly channel: string
  readonly id: string
}

/**
 * Shows the progress until the upgrade has ended. It listens to the live stream, and reads the upgrade itself while no
 * stream gets through.
 * @throws CommandError upgradeFailed if not every device was upgraded.
 */
export async function watchUpgrade(session: Session, api: Api, { channel, id }: WatchedUpgrade): Promise<void> {
  const ended = Promise.withResolvers<JsonObject>()
  const over = new AbortController()
  const signal = AbortSignal.any([session.interrupted, over.signal])
  let isLive = false
  let [hasRead, isLost] = [false, false]

  async function read(): Promise<void> {
    const upgrade = objectOf(await api.get(`/api/v1${channel}/${encodeURIComponent(id)}`))
    const progress = progressOf(upgrade)
    hasRead = true
    session.output.progress(lineOf(progress))
    if (!progress.hasEnded) return
    ended.resolve(upgrade)
    over.abort()
  }

  /** A server that restarts answers again soon; one that has never answered is another matter. */
  async function readAgain(): Promise<void> {
    try {
      await read()
      isLost = false
    } catch (error) {
      if (!hasRead || !(error instanceof CommandError) || error.outcome !== 'unavailable') throw error
      if (!isLost) session.output.tell(`connection lost: ${error.message}; retrying`)
      isLost = true
    }
  }

  const following = followStream(
    api,
    {
      channels: [channel],
      async onData(data) {
        // Messages about single sites have no counts of the whole.
        if (data['upgrade_id'] !== id || data['site_upgrade_id'] !== undefined) return
        session.output.progress(lineOf(liveProgressOf(data)))
        if (ENDED.has(textOf(data['status']))) await read()
      },
      async onGap() {
        isLive = true
        await read()
      },
      onLost: () => (isLive = false),
    },
    signal,
    // Reading reports the same refusal.
  ).catch(() => (isLive = false))

  try {
    while (!signal.aborted) {
      if (!isLive) await readAgain()
      await delay(POLL_MS, undefined, { signal }).catch(() => {})
    }
    if (over.signal.aborted) report(session, await ended.promise)
  } finally {
    over.abort()
    await following
  }
}

function liveProgressOf({ counts }: JsonObject): Pick<Progress, 'total' | 'counts'> {
  const known = objectOf(counts)
  const of = (state: string): number => Number(known[state] ?? 0)
  return {
    total: of('total'),
    counts: Object.fromEntries(STATES.map((state) => [state, of(state)])) as Progress['counts'],
  }
}

function report({ output }: Session, upgrade: JsonObject): void {
  const { total, counts } = progressOf(upgrade)
  output.show({ id: upgrade['id'] ?? null, total, ...counts }, () => {
    const skipped = counts.skipped === 0 ? '' : `, ${counts.skipped} skipped: they run the version already`
    return `${counts.upgraded} of ${total} upgraded${skipped}`
  })
  const failed = counts.failed + counts.cancelled
  if (failed > 0) throw new CommandError('upgradeFailed', `${failed} of ${total} devices were not upgraded`)
}

function lineOf({ total, counts }: Pick<Progress, 'total' | 'counts'>): string {
  const ended = counts.upgraded + counts.failed + counts.skipped + counts.cancelled
  const states = STATES.filter((state) => counts[state] > 0).map(
    (state) => `${counts[state]} ${state.replaceAll('_', ' ')}`,
  )
  return `${bar(total === 0 ? 1 : ended / total)}  ${states.join(', ')}`
}
