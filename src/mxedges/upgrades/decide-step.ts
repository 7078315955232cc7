import { compareVersions } from '../../firmware/packages/compare-versions.ts'
import type { ApplianceNow } from './target.ts'
import type { MxedgeStep } from './upgrade.ts'

/** Returns what the appliance reports of what the step changes; null: nothing. */
export function reportedBy({ services, distro }: Pick<ApplianceNow, 'services' | 'distro'>, step: MxedgeStep) {
  if ('distro' in step) return distro
  return services.find(({ name }) => name === step.service)?.version ?? null
}

/** Returns true if the appliance reports what the step is to bring about. */
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
  /** The steps, with what the appliance reports now as `from` of that one. */
  readonly steps: readonly MxedgeStep[]
}

/**
 * Finds the next step that the appliance needs. It passes steps that are reached already, and downgrades that nobody has
 * allowed: since the plan was made somebody may have upgraded the service.
 * @param from Where to begin.
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
