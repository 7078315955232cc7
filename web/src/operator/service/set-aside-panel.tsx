import { useQueryClient } from '@tanstack/react-query'
import type { OperatorApi } from '../../api/operator.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { counted } from '../../display/texts/counted.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { sizeText } from '../../display/texts/size.ts'
import { Ago } from '../../display/times/time.tsx'
import type { SetAsideEvent } from './answers.ts'
import { OperatorList, useOperatorList } from './operator-list.tsx'

const PATH = '/set-aside-events'

/** Events that could not be routed to webhooks, with the reason, the oldest first. */
export function SetAsidePanel({ operator }: { readonly operator: OperatorApi }) {
  const list = useOperatorList<SetAsideEvent>(operator, PATH)
  const { total = 0 } = list
  return (
    <OperatorList
      title="Events set aside"
      list={list}
      actions={total > 0 ? <RetryButton operator={operator} total={total} /> : undefined}
      empty={
        <EmptyState title="Every event was routed">Events that can't be routed to webhooks appear here.</EmptyState>
      }
    >
      {({ id, topic, reason, bytes, org_id: orgId, site_id: siteId, created_time: createdAt }) => (
        <li key={id}>
          <div className="log-head">
            <span className="log-what">{topic}</span>
            <Ago at={createdAt} />
          </div>
          <p>{reason}</p>
          <p className="mono">
            {[`organization ${orgId}`, siteId !== null && `site ${siteId}`].filter(Boolean).join(' ')}
          </p>
          <p>{sizeText(bytes)}</p>
        </li>
      )}
    </OperatorList>
  )
}

function RetryButton({ operator, total }: { readonly operator: OperatorApi; readonly total: number }) {
  const queries = useQueryClient()
  return (
    <ConfirmButton
      action="Route all again"
      effect={`Routes ${counted(total, 'event')} again. Webhooks get them late, after newer ones. An event that fails again returns to this list; after 30 days it is deleted.`}
      run={async () => {
        await operator.post(`${PATH}/retry`)
        await queries.invalidateQueries({ queryKey: ['operator list', PATH] })
      }}
    />
  )
}
