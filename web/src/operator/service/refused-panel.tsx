import { useQuery } from '@tanstack/react-query'
import type { OperatorApi } from '../../api/operator.ts'
import { macText } from '../../devices/device.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { Ago } from '../../display/times/time.tsx'
import type { RefusedDevice } from './answers.ts'
import { READ_AGAIN_MS } from './read-again.ts'
import { protocolText, refusalText } from './refusal-words.ts'

/** Why devices could not connect, the latest first. */
export function RefusedPanel({ operator }: { readonly operator: OperatorApi }) {
  const query = useQuery({
    queryKey: ['operator refused'],
    queryFn: () => operator.get<readonly RefusedDevice[]>('/refused-devices'),
    refetchInterval: READ_AGAIN_MS,
    gcTime: 0,
  })
  return (
    <Panel title="Refused devices" aside="since the start">
      <QueryView query={query}>
        {(refused) =>
          refused.length === 0 ? (
            <EmptyState title="No device was refused">Every device that called was admitted.</EmptyState>
          ) : (
            <ol className="log scroll" tabIndex={0} aria-label="Refused devices">
              {refused.map((one) => (
                <RefusedLine key={`${one.protocol} ${one.reason} ${one.mac ?? one.address}`} refused={one} />
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}

function RefusedLine({ refused }: { readonly refused: RefusedDevice }) {
  const { protocol, reason, address, mac, detail, count, last_time: lastAt } = refused
  return (
    <li>
      <div className="log-head">
        <span className="log-what">{mac === undefined ? (address ?? 'An unknown address') : macText(mac)}</span>
        <Ago at={lastAt} />
      </div>
      <p>{refusalText(reason)}.</p>
      <p>
        {[protocolText(protocol), mac !== undefined && address, detail, count > 1 && `${count} times`]
          .filter((part) => typeof part === 'string')
          .join(' · ')}
      </p>
    </li>
  )
}
