import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { macText } from '../device.ts'

interface ConnectPanelProps {
  readonly orgId: string
  /** The device that is to connect first. */
  readonly mac: string | undefined
}

/** Explains how devices connect to this service, by their protocol. */
export function ConnectPanel({ orgId, mac }: ConnectPanelProps) {
  return (
    <Panel title="Connect">
      <details className="plan-line" open>
        <summary>Access points and switches that speak uCentral</summary>
        <p>The operator issues a certificate for each device, on the server:</p>
        <pre className="once">{`npm run -s cli -- device-certificate ${mac === undefined ? 'MAC' : macText(mac)} --out ./device`}</pre>
        <p>
          Copy the files to <code>/etc/ucentral/</code> on the device, enter this server as its gateway, and restart it.
          The manual says which files each device needs.
        </p>
      </details>
      <details className="plan-line">
        <summary>Switches and gateways with Junos</summary>
        <p>Enter these commands on the device. From then on it connects by itself:</p>
        <JunosCommands orgId={orgId} />
      </details>
      <details className="plan-line">
        <summary>No devices at hand</summary>
        <p>The demo adds an organization with a simulated fleet:</p>
        <pre className="once">npm start -- --demo</pre>
      </details>
    </Panel>
  )
}

function JunosCommands({ orgId }: { readonly orgId: string }) {
  const { api } = useServer()
  const query = useQuery({
    queryKey: ['junos commands', orgId],
    queryFn: () =>
      answerOf(api.GET('/api/v1/orgs/{org_id}/ocdevices/outbound_ssh_cmd', { params: { path: { org_id: orgId } } })),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return <QueryView query={query}>{({ cmd }) => <pre className="once">{cmd}</pre>}</QueryView>
}
