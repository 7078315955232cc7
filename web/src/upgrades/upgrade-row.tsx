import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useServer } from '../api/client.ts'
import { counted } from '../display/texts/counted.ts'
import { StateMark } from '../display/state-mark.tsx'
import { ViewerTime } from '../display/times/time.tsx'
import { countsOf, firstStartOf, standingOf, stateOf } from './upgrade.ts'
import { UpgradeProgress } from './upgrade-progress.tsx'
import { upgradeQuery } from './use-upgrade.ts'

/** An upgrade in a list. It reads its own record, which has the devices in each state and the starts of the sites. */
export function UpgradeRow({ orgId, upgradeId }: { readonly orgId: string; readonly upgradeId: string }) {
  const { api } = useServer()
  const upgrade = useQuery(upgradeQuery(api, orgId, upgradeId)).data
  if (upgrade === undefined) return <li className="upgrade-row" aria-busy="true" />
  const counts = countsOf(upgrade)
  const total = upgrade.upgrades.reduce((sum, { upgrade: { targets } }) => sum + targets.total, 0)
  const failed = counts.get('failed') ?? 0
  const skipped = counts.get('skipped') ?? 0
  const start = firstStartOf(upgrade)
  const { tone, text } = stateOf(standingOf(upgrade))
  return (
    <li className="upgrade-row">
      <div>
        <Link to="/orgs/$orgId/upgrades/$upgradeId" params={{ orgId, upgradeId }}>
          To {upgrade.target_version === '' ? 'versions by model' : upgrade.target_version}
        </Link>
        <span className="muted">
          {upgrade.strategy.replaceAll('_', ' ')} · {counted(upgrade.upgrades.length, 'site')} ·{' '}
          {counted(total, 'device')}
          {start !== null && (
            <>
              {' '}
              · from <ViewerTime at={start} />
            </>
          )}
        </span>
      </div>
      <UpgradeProgress counts={counts} />
      <span className="upgrade-figures">
        {counts.get('upgraded') ?? 0} upgraded
        {skipped > 0 && `, ${skipped} skipped`}
        {failed > 0 && <strong>, {failed} failed</strong>}
      </span>
      <StateMark tone={tone}>{text}</StateMark>
    </li>
  )
}
