import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { NewSiteForm } from '../../orgs/new-site-form.tsx'
import { useSites } from '../../orgs/sites.ts'
import { AwaitedPanel } from './awaited-panel.tsx'
import { ClaimPanel } from './claim-panel.tsx'
import { macsIn } from './claim-search.ts'
import { ConnectPanel } from './connect-panel.tsx'

const route = getRouteApi('/signed-in/orgs/$orgId/claim')

/** Takes a device from the box to its first connection: claim, connect, wait. */
export function ClaimPage() {
  const { orgId } = route.useParams()
  const macs = macsIn(route.useSearch().macs)
  const navigate = useNavigate()
  const sites = useSites(orgId)
  const mayClaim = useMay('write', { orgId })
  return (
    <>
      <PageTitle
        title="Claim devices"
        call={`/orgs/${orgId}/inventory`}
        above={
          <Link to="/orgs/$orgId/devices" params={{ orgId }}>
            Devices
          </Link>
        }
      />
      {!mayClaim ? (
        <EmptyState title="Your role claims no devices">Admins of the organization can change it.</EmptyState>
      ) : (
        <div className="columns">
          <div>
            <QueryView query={sites}>
              {(known) =>
                known.size === 0 ? (
                  <Panel title="Site">
                    <NewSiteForm orgId={orgId} onCreated={() => undefined} />
                  </Panel>
                ) : (
                  <ClaimPanel
                    orgId={orgId}
                    sites={known}
                    onClaimed={(claimed) =>
                      void navigate({
                        to: '/orgs/$orgId/claim',
                        params: { orgId },
                        search: { macs: [...new Set([...claimed, ...macs])].join(',') },
                        replace: true,
                      })
                    }
                  />
                )
              }
            </QueryView>
          </div>
          <div>
            <AwaitedPanel orgId={orgId} macs={macs} siteIds={[...(sites.data?.keys() ?? [])]} />
            <ConnectPanel orgId={orgId} mac={macs[0]} />
          </div>
        </div>
      )}
    </>
  )
}
