import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { answerOf, useServer } from '../../api/client.ts'
import { isMissing } from '../../api/problem.ts'
import { ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { TextZone } from '../../display/times/text-zone.ts'
import { useSites } from '../../orgs/sites.ts'
import { deviceIdOf, macText, stateOf } from '../device.ts'
import { parseReport } from '../report.ts'
import { type DeviceStats, useLiveDevices } from '../use-live-devices.ts'
import { DeviceActions } from './device-actions.tsx'
import { DeviceCommands } from './device-commands.tsx'
import { DeviceConfig } from './device-config.tsx'
import { DeviceEvents } from './device-events.tsx'
import { DeviceFacts } from './device-facts.tsx'
import { DeviceGraphs } from './device-graphs.tsx'
import { DeviceHardware } from './device-hardware.tsx'
import { MovedDevice } from './moved-device.tsx'
import { SupportFiles } from './support-files.tsx'

const route = getRouteApi('/signed-in/orgs/$orgId/sites/$siteId/devices/$mac')

export function DevicePage() {
  const { orgId, siteId, mac } = route.useParams()
  const { query, stats } = useDevice(siteId, mac)
  const site = useSites(orgId).data?.get(siteId)
  const mayOperate = useMay('operate', { orgId, siteId })
  const mayReadFiles = useMay('admin', { orgId, siteId })
  if (isMissing(query.error)) return <MovedDevice orgId={orgId} mac={mac} />
  if (query.error !== null && stats === undefined) return <ProblemNote problem={query.error} />
  if (stats === undefined) return <Skeleton rows={10} />
  const report = parseReport(stats)
  const { tone, text } = stateOf(stats.status, report.upgradeStep)
  return (
    <TextZone value={site?.timezone}>
      <PageTitle
        title={stats.name === '' ? macText(mac) : stats.name}
        call={`/sites/${siteId}/stats/devices/${deviceIdOf(mac)}`}
        above={
          <>
            <Link to="/orgs/$orgId/devices" params={{ orgId }}>
              Devices
            </Link>{' '}
            /{' '}
            <Link to="/orgs/$orgId/devices" params={{ orgId }} search={{ site: siteId }}>
              {site?.name ?? 'Site'}
            </Link>
          </>
        }
        actions={
          mayOperate && stats.status === 'connected' && <DeviceActions stats={stats} report={report} siteId={siteId} />
        }
      >
        <StateMark tone={tone}>{text}</StateMark>
        <span>
          {stats.model} · {stats.version ?? 'version unknown'}
        </span>
      </PageTitle>
      <div className="columns">
        <div>
          <DeviceFacts stats={stats} report={report} zone={site?.timezone} />
          <DeviceGraphs siteId={siteId} deviceId={stats.id} zone={site?.timezone} />
          <DeviceHardware report={report} />
        </div>
        <div>
          <DeviceCommands siteId={siteId} deviceId={stats.id} zone={site?.timezone} />
          {mayReadFiles && <SupportFiles siteId={siteId} deviceId={stats.id} zone={site?.timezone} />}
          <DeviceEvents orgId={orgId} mac={mac} zone={site?.timezone} />
          <DeviceConfig siteId={siteId} deviceId={stats.id} />
        </div>
      </div>
    </TextZone>
  )
}

/** Reads the device, and updates it from the stream. */
function useDevice(siteId: string, mac: string) {
  const { api } = useServer()
  const queries = useQueryClient()
  const queryKey = ['device', siteId, mac]
  const query = useQuery({
    queryKey,
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/sites/{site_id}/stats/devices/{device_id}', {
          params: { path: { site_id: siteId, device_id: deviceIdOf(mac) } },
        }),
      ),
  })
  useLiveDevices([siteId], {
    onGap: () => queries.invalidateQueries({ queryKey }),
    onChange: (changed) => {
      if (changed.mac !== mac) return
      queries.setQueryData<DeviceStats>(queryKey, changed)
      void queries.invalidateQueries({ queryKey: ['device events', mac] })
    },
  })
  return { query, stats: query.data }
}
