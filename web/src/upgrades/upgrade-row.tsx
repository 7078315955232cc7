import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useServer } from '../api/client.ts'
import { counted } from '../display/counted.ts'
import { StateMark } from '../display/state-mark.tsx'
import { type Hold, countsOf, holdOf, holdText } from './upgrade.ts'
import { UpgradeProgress } from './upgrade-progress.tsx'
import { isUpgradeRunning, upgradeQuery } from './use-upgrade.ts'

/** An upgrade in a list. It reads its own record, because lists of the interface contain only ids. */
export function UpgradeRow({ orgId, upgradeId }: { readonly orgId: string; readonly upgradeId: string }) {
  const { api } = useServer()
  const upgrade = useQuery(upgradeQuery(api, orgId, upgradeId)).data
  if (upgrade === undefined) return <li className="upgrade-row" aria-busy="true" />
  const counts = countsOf(upgrade)
  const total = upgrade.upgrades.reduce((sum, { upgrade: { targets } }) => sum + targets.total, 0)
  const failed = counts.get('failed') ?? 0
  return (
    <li className="upgrade-row">
      <div>
        <Link to="/orgs/$orgId/upgrades/$upgradeId" params={{ orgId, upgradeId }}>
          To {upgrade.target_version === '' ? 'versions by model' : upgrade.target_version}
        </Link>
        <span className="muted">
          {upgrade.strategy.replaceAll('_', ' ')} · {counted(upgrade.upgrades.length, 'site')} ·{' '}
          {counted(total, 'device')}
        </span>
      </div>
      <UpgradeProgress counts={counts} />
      <span className="upgrade-figures">
        {counts.get('upgraded') ?? 0} upgraded{failed > 0 && <strong>, {failed} failed</strong>}
      </span>
      <UpgradeState isOver={!isUpgradeRunning(upgrade)} hold={holdOf(upgrade)} failed={failed} />
    </li>
  )
}

interface UpgradeStateProps {
  readonly isOver: boolean
  readonly hold: Hold | null
  readonly failed: number
}

function UpgradeState({ isOver, hold, failed }: UpgradeStateProps) {
  if (hold !== null) return <StateMark tone="warn">{holdText(hold)}</StateMark>
  if (!isOver) return <StateMark tone="busy">Running</StateMark>
  return failed > 0 ? <StateMark tone="bad">Ended</StateMark> : <StateMark tone="good">Ended</StateMark>
}
