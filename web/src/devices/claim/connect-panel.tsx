import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import { Panel } from '../../display/panel.tsx'
import { QueryView } from '../../display/query-view.tsx'
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
        <p>Who runs the service issues a certificate for each of them, on the machine of the service:</p>
        <pre className="once">{`npm run -s cli -- device-certificate ${mac === undefined ? 'MAC' : macText(mac)} --out ./device`}</pre>
        <p>
          Copy the files to <code>/etc/ucentral/</code> of the device, name this service as its gateway, and restart it.
          The manual tells which device needs which file.
        </p>
      </details>
      <details className="plan-line">
        <summary>Switches and gateways with Junos</summary>
        <p>Paste these commands into the device; it calls home from then on:</p>
        <JunosCommands orgId={orgId} />
      </details>
      <details className="plan-line">
        <summary>Without devices at hand</summary>
        <p>A demo has an organization of its own with a simulated fleet:</p>
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
