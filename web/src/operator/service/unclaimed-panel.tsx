import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { Page } from '../../api/client.ts'
import type { OperatorApi } from '../../api/operator.ts'
import { macText } from '../../devices/device.ts'
import { EmptyState, ProblemNote, Skeleton } from '../../display/notices.tsx'
import { Panel } from '../../display/panel.tsx'
import { Ago } from '../../display/time.tsx'
import type { UnclaimedDevice } from './answers.ts'

const SHOWN = 20

/** Devices that no organization has claimed, with the codes by which one can. */
export function UnclaimedPanel({ operator }: { readonly operator: OperatorApi }) {
  const query = useInfiniteQuery({
    queryKey: ['operator unclaimed'],
    queryFn: async ({ pageParam }) =>
      (await operator.list(`/unclaimed?limit=${SHOWN}&page=${pageParam}`)) as Page<UnclaimedDevice>,
    initialPageParam: 1,
    getNextPageParam: ({ total }, pages) => (pages.length * SHOWN < total ? pages.length + 1 : undefined),
    gcTime: 0,
  })
  const rows = query.data?.pages.flatMap((page) => page.rows)
  return (
    <Panel title="Unclaimed devices" aside={query.data?.pages[0]?.total}>
      {rows === undefined && (query.error === null ? <Skeleton rows={3} /> : <ProblemNote problem={query.error} />)}
      {rows?.length === 0 && (
        <EmptyState title="Every known device is claimed">
          Others become known by a manifest, or when they connect.
        </EmptyState>
      )}
      {rows !== undefined && rows.length > 0 && (
        <ol className="log">
          {rows.map(({ mac, model, serial, claim_code: code, last_seen: seenAt }) => (
            <li key={mac} className="image-line">
              <div>
                <p className="image-uses mono">{macText(mac)}</p>
                <p>{[model, serial].filter((part) => part !== null && part !== '').join(' · ')}</p>
              </div>
              <span>
                {code !== null && <code>{code}</code>}{' '}
                {seenAt === null ? <span className="muted">never connected</span> : <Ago at={seenAt} />}
              </span>
            </li>
          ))}
        </ol>
      )}
      {query.hasNextPage && (
        <p className="panel-buttons">
          <Button
            variant="default"
            size="xs"
            loading={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            Show more
          </Button>
        </p>
      )}
    </Panel>
  )
}
