import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type Page, type Schemas, answerOf, pageOf, useServer } from '../../api/client.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { sizeText } from '../../display/texts/size.ts'
import { SiteTime } from '../../display/times/time.tsx'
import { isFileAwaited } from './awaited-file.ts'
import { Row, RowName } from '../../display/layout/row.tsx'

const SHOWN = 10
/** The addresses of files work for an hour. */
const RENEW_MS = 30 * 60_000
/** The interval at which a file is looked for whose command has ended: nothing reports its arrival. */
const AWAITED_MS = 2000

interface SupportFilesProps {
  readonly siteId: string
  readonly deviceId: string
  readonly zone: string | undefined
}

/** The support files that the device has uploaded, to download and to delete; nothing while there are none. */
export function SupportFiles({ siteId, deviceId, zone }: SupportFilesProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  // The panel of commands reads them.
  const { data: commands } = useQuery<Page<Schemas['DeviceCommand']>>({
    queryKey: ['device commands', deviceId],
    enabled: false,
  })
  // Each command that ends reads the commands again, and with them the files.
  const queryKey = ['device commands', deviceId, 'support files']
  const { data } = useQuery({
    queryKey,
    queryFn: () =>
      pageOf(
        api.GET('/api/v1/sites/{site_id}/devices/{device_id}/support', {
          params: { path: { site_id: siteId, device_id: deviceId }, query: { limit: SHOWN } },
        }),
      ),
    refetchInterval: ({ state: { data: files } }) =>
      isFileAwaited({ commands: commands?.rows ?? [], files: files?.rows ?? [] }, Date.now()) ? AWAITED_MS : RENEW_MS,
  })
  if (data === undefined || data.rows.length === 0) return null
  return (
    <Panel title="Support files" aside={data.total}>
      <ol className="log">
        {data.rows.map(({ id, bytes, url, created_time: createdAt }) => (
          <Row key={id}>
            <div className="log-head">
              <RowName>
                <a href={url} download>
                  {sizeText(bytes)}, <SiteTime at={createdAt} zone={zone} />
                </a>
              </RowName>
              <ConfirmButton
                action="Delete"
                isDestructive
                effect={{ does: 'Deletes', counts: [{ count: 1, one: 'support file' }], isFinal: true }}
                run={async () => {
                  const path = { site_id: siteId, device_id: deviceId, file_id: id }
                  const file = '/api/v1/sites/{site_id}/devices/{device_id}/support/{file_id}'
                  await answerOf(api.DELETE(file, { params: { path } }))
                  await queries.invalidateQueries({ queryKey })
                }}
              />
            </div>
          </Row>
        ))}
      </ol>
    </Panel>
  )
}
