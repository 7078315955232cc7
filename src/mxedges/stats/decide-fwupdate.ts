import type { FwUpdate } from '../../devices/tables.ts'
import { progressAt } from '../../devices/stats/fwupdate.ts'
import type { MxedgeTargetState } from '../upgrades/upgrade.ts'

/** The newest upgrade of an appliance. */
export interface NewestUpgrade {
  readonly state: MxedgeTargetState
  /** The number of its steps. */
  readonly steps: number
  /** The place of the present step among them, from 0. */
  readonly step: number
  readonly staged: number
  /** The number of queued commands. */
  readonly attempt: number
  /** Attempts at the present step that the appliance refused or failed. */
  readonly failedAttempts: number
  /** The agent's last report about the running command; null: none. */
  readonly progress: { readonly step: 'download' | 'install'; readonly percent?: number } | null
  /** The number of known upgrades that did not skip the appliance, including this one. */
  readonly upgrades: number
}

const { requested, downloaded, installed, verifying, done } = progressAt

/** Exceeds the number of commands of an upgrade times OF_ATTEMPT. */
const OF_UPGRADE = 1_000_000
const OF_ATTEMPT = 1000
/** Behind the percentages. */
const WAITING = 300
const FAILED = 400

/**
 * Decides what the statistics of an appliance show of its newest upgrade, in the form of those of devices; null:
 * nothing. The `status_id` differs after each change, because clients watch it.
 */
export function decideFwUpdate(upgrade: NewestUpgrade): Omit<FwUpdate, 'timestamp'> | null {
  const { state, attempt, failedAttempts, upgrades } = upgrade
  const show = (status: FwUpdate['status'], progress: number, place = progress) => ({
    status,
    progress,
    status_id: upgrades * OF_UPGRADE + attempt * OF_ATTEMPT + place,
    will_retry: (status === 'inprogress' || status === 'scheduled') && failedAttempts > 0,
  })
  switch (state) {
    case 'planned':
    case 'deferred':
      return show('scheduled', 0, WAITING)
    case 'downloading':
      return show('inprogress', downloadingAt(upgrade))
    case 'downloaded':
      return show('inprogress', downloaded)
    case 'commanded':
    case 'unconfirmed':
      return show('inprogress', installingAt(upgrade))
    case 'verifying':
      return show('inprogress', isLast(upgrade) ? verifying : shareOf(upgrade, [downloaded, installed], 1))
    case 'upgraded':
      return show('success', done)
    case 'failed':
      return show('failed', 0, FAILED)
    case 'skipped':
    case 'cancelled':
      return null
  }
}

/** Every step has the same share of the way, of which `part` is done. */
function shareOf({ steps, step }: NewestUpgrade, [from, to]: readonly [number, number], part: number): number {
  return Math.round(from + (to - from) * Math.min(1, (step + part) / Math.max(1, steps)))
}

function downloadingAt(upgrade: NewestUpgrade): number {
  const part = (upgrade.progress?.percent ?? 0) / 100
  return shareOf({ ...upgrade, step: upgrade.staged }, [requested, downloaded], part)
}

/** A command that downloads by itself has not reached the mark of the download until it installs. */
function installingAt(upgrade: NewestUpgrade): number {
  const { progress, step, staged } = upgrade
  const isDownloading = progress?.step === 'download' || (progress === null && staged <= step)
  if (!isDownloading) return shareOf(upgrade, [downloaded, installed], 0)
  return shareOf(upgrade, [requested, downloaded], (progress?.percent ?? 0) / 100)
}

function isLast({ steps, step }: NewestUpgrade): boolean {
  return step >= steps - 1
}
