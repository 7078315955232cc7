import { compareVersions } from '../../firmware/packages/compare-versions.ts'
import type { ApplianceNow } from './target.ts'
import type { MxedgeStep, ServiceStep } from './upgrade.ts'

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
    (each, index) => index >= from && !isReached(appliance, each) && findForbidden(appliance, each) === null,
  )
  if (step < 0) return { step: null, steps }
  return {
    step,
    steps: steps.map((each, index) => (index === step ? { ...each, from: reportedBy(appliance, each) } : each)),
  }
}

/** Returns why an appliance that needs none of the steps is skipped. */
export function skipReason(appliance: Pick<ApplianceNow, 'services' | 'distro'>, steps: readonly MxedgeStep[]): string {
  const forbidden = steps.flatMap((step) => findForbidden(appliance, step) ?? [])
  return forbidden.length === 0 ? 'already on the requested versions' : forbidden.join('; ')
}

function findForbidden(appliance: Pick<ApplianceNow, 'services' | 'distro'>, step: MxedgeStep): string | null {
  const reported = reportedBy(appliance, step)
  return 'service' in step && reported !== null ? describeDowngrade({ ...step, from: reported }) : null
}

/** Returns why the step is not allowed; null: it is. */
export function describeDowngrade({
  service,
  from,
  to,
  allow_downgrade: isAllowed,
}: Pick<ServiceStep, 'service' | 'to' | 'allow_downgrade'> & { readonly from: string }): string | null {
  if (isAllowed || compareVersions(to, from) >= 0) return null
  return `${service} ${to} is lower than its ${from}, and allow_downgrades.${service} is not set`
}
