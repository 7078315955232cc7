import { answerOf, useServer } from '../../../api/client.ts'
import { noteOf } from '../../note-of.ts'
import { kinds } from '../../overview.ts'
import { ExcludeButton, type ExclusionDone } from '../../exclude-button.tsx'
import type { ApplianceTarget } from '../../appliance.ts'
import type { AppliancePlace } from './use-appliance-rollout.ts'

interface ExcludeApplianceProps {
  readonly place: AppliancePlace
  readonly target: ApplianceTarget
  readonly onDone: ExclusionDone
}

/** Excludes an appliance from the upgrade. */
export function ExcludeAppliance({ place: { orgId, upgradeId }, target, onDone }: ExcludeApplianceProps) {
  const { api } = useServer()
  const params = { path: { org_id: orgId, upgrade_id: upgradeId } }
  const exclude = (note: string) => {
    const body = { mxedge_ids: [target.mxedge_id], ...noteOf(note) }
    return answerOf(api.POST('/api/v1/orgs/{org_id}/mxedges/upgrade/{upgrade_id}/exclude', { params, body }))
  }
  return (
    <ExcludeButton
      action="Exclude"
      count={1}
      unit={kinds.mxedge.unit}
      name={target.name}
      exclude={exclude}
      onDone={onDone}
    />
  )
}
