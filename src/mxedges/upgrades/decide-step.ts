import { compareVersions } from '../../firmware/packages/compare-versions.ts'
import type { ApplianceNow } from './target.ts'
import type { MxedgeStep } from './upgrade.ts'

/** Returns the appliance's report about the object of the step; null: none. */
export function reportedBy({ services, distro }: Pick<ApplianceNow, 'services' | 'distro'>, step: MxedgeStep) {
  if ('distro' in step) return distro
  return services.find(({ name }) => name === step.service)?.version ?? null
}

/** True if the appliance reports the target state of the step. */
export function isReached(appliance: Pick<ApplianceNow, 'services' | 'distro'>, step: MxedgeStep): boolean {
  const reported = reportedBy(appliance, step)
  if ('distro' in step && step.to === 'next') return reported !== null && reported !== step.from
  return reported === step.to
}

/** Returns true if the upgraded service does not run. */
export function isBroken({ services }: Pick<ApplianceNow, 'services'>, step: MxedgeStep): boolean {
  return 'service' in step && services.some(({ name, state }) => name === step.service && state === 'failed')
}

export interface NextStep {
  /** The place of the next step that needs a command; null: none does. */
  readonly step: number | null
  /** The steps; the next one has the appliance's current report as `from`. */
  readonly steps: readonly MxedgeStep[]
}

/**
 * Finds the next step that the appliance needs. It skips steps that are already reached, and downgrades that are not
 * allowed: the service may have been upgraded since the plan was made.
 * @param from The step to begin with.
 */
export function findNextStep(
  appliance: Pick<ApplianceNow, 'services' | 'distro'>,
  steps: readonly MxedgeStep[],
  from: number,
): NextStep {
  const step = steps.findIndex(
    (each, index) => index >= from && !isReached(appliance, each) && !isForbidden(each, reportedBy(appliance, each)),
  )
  if (step < 0) return { step: null, steps }
  return {
    step,
    steps: steps.map((each, index) => (index === step ? { ...each, from: reportedBy(appliance, each) } : each)),
  }
}

function isForbidden(step: MxedgeStep, reported: string | null): boolean {
  return 'service' in step && !step.allow_downgrade && reported !== null && compareVersions(step.to, reported) < 0
}
