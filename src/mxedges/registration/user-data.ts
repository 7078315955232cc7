/** The data that the agent of a virtual appliance needs to register. */
export interface AgentStart {
  /** The address of this service. */
  readonly url: string
  /** The registration code: anyone with it can register as the appliance. */
  readonly code: string
  /** PEM of the CA of the service's certificate; null where agents trust it anyway. */
  readonly ca: string | null
}

const ETC = '/etc/signalbox-agent'
const HOOKS = `${ETC}/hooks.json`
const PROGRAM = '/usr/local/lib/signalbox-agent/signalbox-agent.mjs'

/**
 * Returns cloud-init user data that starts the agent of the image as a service. It is JSON, which is YAML too, so no
 * value can break its form. It installs nothing: the image contains Node.js and the agent.
 */
export function userDataOf(start: AgentStart): string {
  const files = [
    // Only root may read the code. In the environment it does not appear in the list of processes.
    { path: `${ETC}/agent.env`, permissions: '0600', content: `SIGNALBOX_AGENT_CODE=${start.code}\n` },
    ...(start.ca === null ? [] : [{ path: `${ETC}/ca.pem`, permissions: '0644', content: start.ca }]),
    { path: '/etc/systemd/system/signalbox-agent.service', permissions: '0644', content: unitOf(start) },
  ]
  const config = {
    write_files: files,
    runcmd: [
      // An image may have its own hooks.
      ['sh', '-c', `test -e ${HOOKS} || echo '{"services":{}}' > ${HOOKS}`],
      ['systemctl', 'daemon-reload'],
      ['systemctl', 'enable', '--now', 'signalbox-agent.service'],
    ],
  }
  return `#cloud-config\n${JSON.stringify(config, null, 2)}\n`
}

function unitOf({ url, ca }: AgentStart): string {
  const args = ['--state', '/var/lib/signalbox-agent', '--url', quote(url), '--hooks', HOOKS]
  const trusted = ca === null ? [] : ['--ca', `${ETC}/ca.pem`]
  return `[Unit]
Description=Agent of Signalbox
Wants=network-online.target
After=network-online.target

[Service]
EnvironmentFile=${ETC}/agent.env
ExecStart=${['/usr/bin/env', 'node', PROGRAM, ...args, ...trusted].join(' ')}
Restart=always
RestartSec=10
# The registration has ended, and the code with it.
RestartPreventExitStatus=3

[Install]
WantedBy=multi-user.target
`
}

/** systemd expands specifiers (%) and variables ($). */
function quote(word: string): string {
  return word.replaceAll('%', '%%').replaceAll('$', '$$$$')
}
