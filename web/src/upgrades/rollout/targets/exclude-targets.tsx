import { useServer } from '../../../api/client.ts'
import { type UpgradePlace, excludeDevices } from '../../calls.ts'
import { ExcludeButton, type ExclusionDone } from '../../exclude-button.tsx'
import { kinds } from '../../overview.ts'
import type { Target } from '../../upgrade.ts'

interface ExcludeTargetsProps {
  readonly place: UpgradePlace
  readonly targets: readonly Target[]
  readonly action: string
  /** The name of the only one. */
  readonly name?: string
  readonly onDone: ExclusionDone
}

/** Excludes devices or routers from the upgrade. */
export function ExcludeTargets({ place, targets, action, name, onDone }: ExcludeTargetsProps) {
  const { api } = useServer()
  const macs = targets.map(({ mac }) => mac)
  return (
    <ExcludeButton
      action={action}
      count={targets.length}
      unit={kinds[place.kind].unit}
      {...(name !== undefined && { name })}
      exclude={(note) => excludeDevices(api, place, { macs, note })}
      onDone={onDone}
    />
  )
}
