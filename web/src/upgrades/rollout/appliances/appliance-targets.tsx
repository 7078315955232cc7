import { Link } from '@tanstack/react-router'
import { causeText } from '../../../display/texts/cause-text.ts'
import { EmptyState } from '../../../display/layout/notices.tsx'
import { Panel } from '../../../display/layout/panel.tsx'
import { RowHead, RowScope } from '../../../display/layout/row.tsx'
import { StateMark } from '../../../display/state-mark.tsx'
import { stepText } from '../../appliance-step.ts'
import { type ApplianceTarget, applianceStates, orderTargets } from './appliance.ts'
import { useExclusion } from '../exclude-button.tsx'
import { ExcludeAppliance } from './exclude-appliance.tsx'
import type { AppliancePlace } from './use-appliance-rollout.ts'

interface ApplianceTargetsProps {
  readonly place: AppliancePlace
  readonly targets: readonly ApplianceTarget[]
  /** Those that the person may exclude. */
  readonly excludable: ReadonlySet<ApplianceTarget>
  readonly onDone: () => Promise<void>
}

/** An upgrade of thousands of appliances shows those that say most. */
const SHOWN = 200

/** The appliances of an upgrade with their steps, failures first. */
export function ApplianceTargets({ place, targets, excludable, onDone }: ApplianceTargetsProps) {
  const { orgId } = place
  const [note, excluded] = useExclusion(onDone)
  // Without any, the column would only take the room of the others.
  const hasCauses = targets.some(({ reason }) => reason !== undefined)
  return (
    <Panel title="Appliances" aside={targets.length}>
      {note}
      {targets.length === 0 && <EmptyState title="No appliance is to be upgraded" />}
      {targets.length > 0 && (
        <div className="table-scroller">
          <table>
            <thead>
              <tr>
                <th scope="col">Appliance</th>
                <th scope="col">State</th>
                <th scope="col" className="wide">
                  Phase
                </th>
                <th scope="col">Steps</th>
                {hasCauses && <th scope="col">Cause</th>}
                {excludable.size > 0 && <th scope="col">Action</th>}
              </tr>
            </thead>
            <tbody>
              {orderTargets(targets)
                .slice(0, SHOWN)
                .map((target) => {
                  const { mxedge_id: id, name, status, phase, steps, reason } = target
                  return (
                    <RowScope key={id}>
                      <tr>
                        <RowHead>
                          <Link to="/orgs/$orgId/edges/$mxedgeId" params={{ orgId, mxedgeId: id }} className="name">
                            {name}
                          </Link>
                        </RowHead>
                        <td>
                          <StateMark tone={applianceStates[status].tone}>{applianceStates[status].text}</StateMark>
                        </td>
                        <td className="wide">{phase ?? '–'}</td>
                        <td>
                          {steps.map((step) => (
                            <div key={stepText(step)}>
                              {stepText(step)}
                              {step.done && <span className="muted"> · done</span>}
                            </div>
                          ))}
                        </td>
                        {hasCauses && <td>{reason === undefined ? '' : causeText(reason)}</td>}
                        {excludable.size > 0 && (
                          <td>
                            {excludable.has(target) && (
                              <ExcludeAppliance place={place} target={target} onDone={excluded} />
                            )}
                          </td>
                        )}
                      </tr>
                    </RowScope>
                  )
                })}
            </tbody>
          </table>
        </div>
      )}
      {targets.length > SHOWN && <p className="plan-line muted">and {targets.length - SHOWN} more appliances</p>}
    </Panel>
  )
}
