import { Link } from '@tanstack/react-router'
import { causeText } from '../../../display/texts/cause-text.ts'
import { EmptyState } from '../../../display/layout/notices.tsx'
import { Panel } from '../../../display/layout/panel.tsx'
import { type Column, Table } from '../../../display/layout/table.tsx'
import { StateMark } from '../../../display/state-mark.tsx'
import { useTextZone } from '../../../display/times/text-zone.ts'
import { stepText } from '../../appliance-step.ts'
import { type ApplianceTarget, applianceStates, orderTargets } from '../../appliance.ts'
import { useExclusion } from '../../exclude-button.tsx'
import { UpgradeText } from '../../upgrade-text.tsx'
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
  const zone = useTextZone()
  const [note, excluded] = useExclusion(onDone)
  // Without any, the column would only take the room of the others.
  const hasCauses = targets.some(({ reason }) => reason !== undefined)
  return (
    <Panel title="Appliances" aside={targets.length}>
      {note}
      {targets.length === 0 && <EmptyState title="No appliance is to be upgraded" />}
      {targets.length > 0 && (
        <Table
          rows={orderTargets(targets).slice(0, SHOWN)}
          keyOf={({ mxedge_id: id }) => id}
          columns={[
            {
              title: 'Appliance',
              renderCell: ({ mxedge_id: id, name }) => (
                <Link to="/orgs/$orgId/edges/$mxedgeId" params={{ orgId, mxedgeId: id }} className="name">
                  {name}
                </Link>
              ),
            },
            {
              title: 'State',
              renderCell: ({ status }) => (
                <StateMark tone={applianceStates[status].tone}>{applianceStates[status].text}</StateMark>
              ),
            },
            { title: 'Phase', className: 'wide', renderCell: ({ phase }) => phase ?? '–' },
            { title: 'Steps', renderCell: ({ steps }) => <Steps steps={steps} /> },
            ...(hasCauses ? [causeColumn(orgId, zone)] : []),
            ...(excludable.size > 0
              ? [
                  {
                    title: 'Action',
                    renderCell: (target: ApplianceTarget) =>
                      excludable.has(target) && <ExcludeAppliance place={place} target={target} onDone={excluded} />,
                  },
                ]
              : []),
          ]}
        />
      )}
      {targets.length > SHOWN && <p className="plan-line muted">and {targets.length - SHOWN} more appliances</p>}
    </Panel>
  )
}

function causeColumn(orgId: string, zone: string | undefined): Column<ApplianceTarget> {
  return {
    title: 'Cause',
    renderCell: ({ reason }) => reason !== undefined && <UpgradeText orgId={orgId} text={causeText(reason, zone)} />,
  }
}

function Steps({ steps }: Pick<ApplianceTarget, 'steps'>) {
  return steps.map((step) => (
    <div key={stepText(step)}>
      {stepText(step)}
      {step.done && <span className="muted"> · done</span>}
    </div>
  ))
}
