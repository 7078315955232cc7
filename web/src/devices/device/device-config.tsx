import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { configOf } from './config.ts'

interface DeviceConfigProps {
  readonly siteId: string
  readonly deviceId: string
}

/** The stored configuration of the device, as JSON. */
export function DeviceConfig({ siteId, deviceId }: DeviceConfigProps) {
  const { api } = useServer()
  const query = useQuery({
    queryKey: ['device config', deviceId],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/sites/{site_id}/devices/{device_id}', {
          params: { path: { site_id: siteId, device_id: deviceId } },
        }),
      ),
  })
  return (
    <Panel title="Configuration" aside="as stored">
      <QueryView query={query}>
        {(device) => (
          <div className="exchange plan-line">
            <pre tabIndex={0} role="region" aria-label="Configuration as JSON">
              {JSON.stringify(configOf(device), null, 2)}
            </pre>
          </div>
        )}
      </QueryView>
    </Panel>
  )
}
