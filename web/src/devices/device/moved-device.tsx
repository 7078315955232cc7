import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useServer } from '../../api/client.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { useSites } from '../../orgs/sites.ts'
import { macText } from '../device.ts'
import { inventoryItemQuery } from '../inventory-item.ts'

interface MovedDeviceProps {
  readonly orgId: string
  readonly mac: string
}

/** Shown where an old link leads to a device that has left its site: where it is now. */
export function MovedDevice({ orgId, mac }: MovedDeviceProps) {
  const { api } = useServer()
  const query = useQuery(inventoryItemQuery(api, orgId, mac))
  return (
    <>
      <PageTitle
        title={macText(mac)}
        above={
          <Link to="/orgs/$orgId/devices" params={{ orgId }}>
            Devices
          </Link>
        }
      />
      <QueryView query={query}>
        {(item) => <NewPlace orgId={orgId} mac={mac} siteId={item === null ? null : item.site_id} />}
      </QueryView>
    </>
  )
}

/** @param siteId Undefined if the device is in no site, and null if the organization does not have it. */
function NewPlace({ orgId, mac, siteId }: MovedDeviceProps & { readonly siteId: string | null | undefined }) {
  const sites = useSites(orgId).data
  if (siteId === null)
    return (
      <EmptyState title="The organization does not have this device">
        It was released, or it has never been claimed.
      </EmptyState>
    )
  if (siteId === undefined)
    return <EmptyState title="The device is in no site">It was removed from this one. Assign it to a site.</EmptyState>
  return (
    <EmptyState title="The device is in another site now">
      <Link to="/orgs/$orgId/sites/$siteId/devices/$mac" params={{ orgId, siteId, mac }}>
        Open it at {sites?.get(siteId)?.name ?? 'its site'}
      </Link>
    </EmptyState>
  )
}
