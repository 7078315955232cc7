import { Link, getRouteApi } from '@tanstack/react-router'
import { Skeleton } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { SiteTimeOfDay } from '../../display/times/time.tsx'
import { TextZone } from '../../display/times/text-zone.ts'
import { useNow } from '../../display/times/use-now.ts'
import { MissingSite } from '../../orgs/missing-site.tsx'
import { type Site, useSites } from '../../orgs/sites.ts'
import { AlarmPanel } from '../alarm-panel.tsx'
import { ChangePanel } from '../change-panel.tsx'
import { FleetPanel } from '../fleet-panel.tsx'
import { VersionPanel } from '../version-panel.tsx'
import { AutoUpgradeNote } from './auto-upgrade-note.tsx'
import { MapsPanel } from './maps-panel.tsx'
import { SiteEventPanel } from './site-event-panel.tsx'
import { SiteUpgradePanel } from './site-upgrade-panel.tsx'

const route = getRouteApi('/signed-in/orgs/$orgId/sites/$siteId')

/** The state of a site. */
export function SitePage() {
  const { orgId, siteId } = route.useParams()
  const sites = useSites(orgId).data
  if (sites === undefined) return <Skeleton rows={8} />
  const site = sites.get(siteId)
  if (site === undefined) return <MissingSite orgId={orgId} />
  const place = { orgId, siteId }
  return (
    <TextZone value={site.timezone}>
      <SiteTitle orgId={orgId} site={site} />
      <FleetPanel {...place} />
      <div className="columns">
        <div>
          <MapsPanel {...place} />
          <VersionPanel {...place} />
          <SiteUpgradePanel {...place} zone={site.timezone} />
        </div>
        <div>
          <AlarmPanel {...place} />
          <SiteEventPanel {...place} zone={site.timezone} />
          <ChangePanel {...place} />
        </div>
      </div>
    </TextZone>
  )
}

function SiteTitle({ orgId, site }: { readonly orgId: string; readonly site: Site }) {
  const now = useNow(10_000)
  return (
    <PageTitle
      title={site.name}
      call={`/sites/${site.id}`}
      above={
        <Link to="/orgs/$orgId" params={{ orgId }}>
          Overview
        </Link>
      }
      actions={
        <>
          <Link to="/orgs/$orgId/devices" params={{ orgId }} search={{ site: site.id }} className="link-button">
            Devices
          </Link>
          <Link to="/orgs/$orgId/sites/$siteId/settings" params={{ orgId, siteId: site.id }} className="link-button">
            Settings
          </Link>
        </>
      }
    >
      {typeof site.address === 'string' && site.address !== '' && <span>{site.address}</span>}
      <span>
        {site.timezone}, <SiteTimeOfDay at={now} zone={site.timezone} />
      </span>
      <AutoUpgradeNote siteId={site.id} zone={site.timezone} />
    </PageTitle>
  )
}
