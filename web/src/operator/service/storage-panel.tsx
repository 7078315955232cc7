import { useQuery } from '@tanstack/react-query'
import type { OperatorApi } from '../../api/operator.ts'
import { Panel } from '../../display/layout/panel.tsx'
import { Table } from '../../display/layout/table.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { sizeText } from '../../display/texts/size.ts'
import type { StorageStatus } from './answers.ts'
import { READ_AGAIN_MS } from './read-again.ts'

const SHOWN = 10

/** The disk space that uploads use, and the organizations that use most of it. */
export function StoragePanel({ operator }: { readonly operator: OperatorApi }) {
  const query = useQuery({
    queryKey: ['operator storage'],
    queryFn: () => operator.get<StorageStatus>(`/storage?limit=${SHOWN}`),
    refetchInterval: READ_AGAIN_MS,
    gcTime: 0,
  })
  return (
    <Panel
      title="Storage"
      aside={query.data === undefined ? undefined : `${sizeText(query.data.disk.free_bytes)} of the disk are free`}
    >
      <QueryView query={query}>{(storage) => <Storage storage={storage} />}</QueryView>
    </Panel>
  )
}

function Storage({ storage: { firmware, pictures, support, orgs, disk } }: { readonly storage: StorageStatus }) {
  const uses = [
    ['Firmware', firmware],
    ['Pictures', pictures],
    ['Support files', support],
  ] as const
  return (
    <>
      <ul className="bars">
        {uses.map(([name, { used_bytes: used, max_bytes: most }]) => (
          <li key={name} className="storage-bar">
            <span>{name}</span>
            <span className="bar" aria-hidden="true">
              <span style={{ width: `${Math.min(100, (100 * used) / Math.max(1, most))}%` }} />
            </span>
            <span className="number">
              {sizeText(used)} of {sizeText(most)}
            </span>
          </li>
        ))}
      </ul>
      <p className="plan-line muted">{sizeText(disk.reserve_bytes)} of the disk stay free: no upload may use them.</p>
      {orgs.length > 0 && (
        <Table
          rows={orgs}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Organization', renderCell: ({ name }) => name },
            { title: 'Firmware', className: 'number', renderCell: ({ firmware_bytes: bytes }) => sizeText(bytes) },
            { title: 'Pictures', className: 'number', renderCell: ({ picture_bytes: bytes }) => sizeText(bytes) },
            { title: 'Support files', className: 'number', renderCell: ({ support_bytes: bytes }) => sizeText(bytes) },
          ]}
        />
      )}
    </>
  )
}
