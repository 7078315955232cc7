import { type CountsByPhase, type FailuresByPhase, exceedsPercentage } from '../stops/decide-stop.ts'
import { type PhaseOf, START_PHASE, type UpgradeHold, type UpgradePlan } from '../rollout.ts'

/** The pause of a whole upgrade at a gate, and the phase that it waits for or behind. */
export interface Hold {
  readonly hold: UpgradeHold
  readonly phase: PhaseOf['phase']
}

/** The results of the devices of the phases so far. */
export interface PhaseResults {
  readonly failures: FailuresByPhase
  readonly upgraded: CountsByPhase
}

/** The words for the devices of a phase, in texts. */
interface Words {
  readonly phase: string
  readonly done: string
  readonly units: string
}

export const ofReboots: Words = { phase: 'phase', done: 'were upgraded', units: 'devices' }
export const ofAppliances: Words = { ...ofReboots, units: 'edge appliances' }
export const ofDownloads: Words = { phase: 'download phase', done: 'have downloaded', units: 'devices' }

export function wordsOf(of: UpgradeHold['of']): Words {
  return of === 'downloads' ? ofDownloads : ofReboots
}

/** Returns the words for a phase, or for the start. */
export function phaseText({ phase, of }: PhaseOf): string {
  return phase === START_PHASE ? 'the start (phase 0)' : `${wordsOf(of).phase} ${phase}`
}

/**
 * Returns why the next phase must not open by itself; null: it may. All devices of a small first phase may fail without
 * exceeding the tolerance of the whole upgrade, and a phase whose devices were absent or skipped has tested nothing.
 * @param phase The phase that has ended, from 1.
 */
export function findHoldReason(
  phase: number,
  { failures, upgraded }: PhaseResults,
  { phase_sizes: sizes, gates }: Pick<UpgradePlan, 'phase_sizes' | 'gates'>,
  words: Words = ofReboots,
): string | null {
  const size = sizes?.[phase - 1] ?? 0
  const gate = gates?.[phase - 1] ?? null
  if (gate === null || size === 0) return null
  const { max_failure_percentage: percent, min_upgraded: atLeast, min_success_percentage: share } = gate
  const failed = failures[phase] ?? 0
  if (exceedsPercentage(failed, percent, size))
    return `${failed} of ${size} ${words.units} of ${words.phase} ${phase} failed, more than ${percent} %`
  const succeeded = upgraded[phase] ?? 0
  if (share !== undefined && 100 * succeeded < share * size)
    return `${succeeded} of ${size} ${words.units} of ${words.phase} ${phase} ${words.done}, less than ${share} %`
  const tooFew = succeeded < Math.min(atLeast, size)
  return tooFew ? `${succeeded} of ${size} ${words.units} of ${words.phase} ${phase} ${words.done}` : null
}
