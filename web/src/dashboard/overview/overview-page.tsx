import { getRouteApi } from '@tanstack/react-router'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { useMay, useSelf } from '../../accounts/self.ts'
import { AlarmPanel } from '../alarm-panel.tsx'
import { ChangePanel } from '../change-panel.tsx'
import { FleetPanel } from '../fleet-panel.tsx'
import { SitesPanel } from './sites-panel.tsx'
import { VersionPanel } from '../version-panel.tsx'
import { UpgradePanel } from './upgrade-panel.tsx'

const route = getRouteApi('/signed-in/orgs/$orgId/')

/** The state of the organization. */
export function OverviewPage() {
  const { orgId } = route.useParams()
  const name = useSelf()?.privileges.find(({ org_id }) => org_id === orgId)?.org_name
  const mayRead = useMay('read', { orgId })
  return (
    <>
      <PageTitle title={name ?? 'Overview'} call={`/orgs/${orgId}`} />
      <FleetPanel orgId={orgId} />
      <div className="columns">
        <div>
          <SitesPanel orgId={orgId} />
          <VersionPanel orgId={orgId} />
        </div>
        <div>
          {mayRead && <UpgradePanel orgId={orgId} />}
          <AlarmPanel orgId={orgId} />
          <ChangePanel orgId={orgId} />
        </div>
      </div>
    </>
  )
}
