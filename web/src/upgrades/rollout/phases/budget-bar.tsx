import type { Report } from '../../upgrade.ts'
import { budgetText } from '../../verdict.ts'

/** How many of the tolerated failures are used up; nothing where no number of failures stops the upgrade. */
export function BudgetBar({ report }: { readonly report: Report }) {
  const { failed, stops_after_failures: stops } = report
  if (stops === null) return null
  const used = Math.min(failed, stops)
  const tone = used === 0 ? 'good' : used < stops / 2 ? 'warn' : 'bad'
  return (
    <div className="budget">
      <span>Failure budget</span>
      <span
        className="budget-bar"
        role="meter"
        aria-label="Failure budget"
        aria-valuemin={0}
        aria-valuemax={stops}
        aria-valuenow={used}
        aria-valuetext={budgetText(report)}
        data-tone={tone}
      >
        <span style={{ width: `${(100 * used) / stops}%` }} />
      </span>
      <span className="muted">{budgetText(report)}</span>
    </div>
  )
}
