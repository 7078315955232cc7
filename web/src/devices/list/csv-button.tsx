import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { type Api, type Schemas, answerOf, useServer } from '../../api/client.ts'
import { QuietButton } from '../../display/forms/button.tsx'
import { csvOf } from '../../display/texts/csv.ts'
import { ProblemNote } from '../../display/layout/notices.tsx'
import type { Site } from '../../orgs/sites.ts'
import { macText } from '../device.ts'
import { type DeviceSearch, inventoryQuery } from '../device-search.ts'

interface CsvButtonProps {
  readonly orgId: string
  readonly search: DeviceSearch
  readonly sites: ReadonlyMap<string, Site> | undefined
}

type Row = Schemas['InventoryHit']

const PAGE = 1000
const NAMES = ['name', 'status', 'type', 'model', 'version', 'site', 'mac', 'serial']

/** Saves all devices that match as a table; it shows its progress, because they may be many. */
export function CsvButton({ orgId, search, sites }: CsvButtonProps) {
  const { api } = useServer()
  const [progress, setProgress] = useState('')
  const download = useMutation({
    async mutationFn() {
      const rows = await readAll(api, orgId, { search, onProgress: setProgress })
      save(
        'devices.csv',
        csvOf(
          NAMES,
          rows.map((row) => cellsOf(row, sites)),
        ),
      )
    },
    onSettled: () => setProgress(''),
  })
  return (
    <>
      <QuietButton isBusy={download.isPending} onClick={() => download.mutate()}>
        {download.isPending ? `Reading ${progress}` : 'Download CSV'}
      </QuietButton>
      <ProblemNote problem={download.error} />
    </>
  )
}

interface Wanted {
  readonly search: DeviceSearch
  readonly onProgress: (text: string) => void
}

async function readAll(api: Api, orgId: string, { search, onProgress }: Wanted): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (let page = 1; ; page += 1) {
    const query = { ...inventoryQuery(search, page), limit: PAGE }
    const params = { path: { org_id: orgId }, query }
    const { results, total, next } = await answerOf(api.GET('/api/v1/orgs/{org_id}/inventory/search', { params }))
    rows.push(...results)
    onProgress(`${rows.length} of ${total}`)
    if (next === undefined) return rows
  }
}

function cellsOf(row: Row, sites: CsvButtonProps['sites']): readonly string[] {
  const { name, status, type, model, version = '', site_id: siteId, mac, serial } = row
  return [name, status, type, model, version, sites?.get(siteId ?? '')?.name ?? '', macText(mac), serial]
}

function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  URL.revokeObjectURL(url)
}
