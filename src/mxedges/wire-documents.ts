import { type TSchema, Type } from 'typebox'
import { named } from '../http/schemas.ts'

/**
 * Schemas of the fields that Signalbox stores for edge appliances and their clusters without acting on them. Clients
 * parse what other clients have set, so the types must be right. Source: contract, `mxedge`, `mxcluster`.
 */
const open = { additionalProperties: true }

/** Null unsets a field, as leaving it out does. */
export function kept<T extends TSchema>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]))
}

const text = kept(Type.String())
const flag = kept(Type.Boolean())
const integer = kept(Type.Integer())
const texts = kept(Type.Array(Type.String()))
const anyObject = kept(Type.Object({}, open))

/** Objects under names that the client chooses. */
function keyed(schema: TSchema) {
  return kept(Type.Record(Type.String(), schema))
}

const Management = kept(
  named(
    'MxedgeManagement',
    Type.Object(
      {
        config_auto_revert: flag,
        fips_enabled: flag,
        mist_password: text,
        oob_ip_type: kept(Type.Enum(['dhcp', 'disabled', 'static'])),
        oob_ip_type6: kept(Type.Enum(['autoconf', 'dhcp', 'disabled', 'static'])),
        root_password: text,
      },
      open,
    ),
  ),
)

const Proxy = kept(named('MxedgeProxy', Type.Object({ url: text }, open)))

const Monitoring = kept(
  Type.Array(
    Type.Array(
      named(
        'MxedgeMonitor',
        Type.Object(
          {
            host: kept(Type.String({ minLength: 1 })),
            port: integer,
            protocol: kept(
              Type.String({ minLength: 1, maxLength: 100, description: '`arp`, `ping`, `tcp` or a later one' }),
            ),
            src_vlan_id: integer,
            timeout: integer,
          },
          open,
        ),
      ),
    ),
  ),
)

const Addresses = kept(
  named(
    'MxedgeAddresses',
    Type.Object(
      {
        autoconf6: flag,
        dhcp6: flag,
        dns: texts,
        gateway: text,
        gateway6: text,
        ip: text,
        ip6: text,
        netmask: text,
        netmask6: text,
        type: kept(Type.Enum(['dhcp', 'static'])),
        type6: kept(Type.Enum(['dhcp', 'static'])),
      },
      open,
    ),
  ),
)

/** Fields that appliances and clusters share. */
const common = {
  mxedge_mgmt: Management,
  proxy: Proxy,
  tunterm_dhcpd_config: kept(
    named('MxedgeDhcpRelay', Type.Object({ enabled: flag, servers: texts, type: kept(Type.Enum(['relay'])) }, open)),
  ),
  tunterm_extra_routes: keyed(named('MxedgeRoute', Type.Object({ via: text }, open))),
  tunterm_monitoring: Monitoring,
}

export const mxedgeFields = {
  ...common,
  note: text,
  notes: text,
  ntp_servers: texts,
  oob_ip_config: Addresses,
  services: texts,
  tunterm_igmp_snooping_config: kept(
    named(
      'MxedgeIgmpSnooping',
      Type.Object(
        {
          enabled: flag,
          querier: kept(
            named(
              'MxedgeIgmpQuerier',
              Type.Object(
                {
                  max_response_time: integer,
                  mtu: integer,
                  query_interval: integer,
                  robustness: kept(Type.Integer({ minimum: 1, maximum: 7 })),
                  version: integer,
                },
                open,
              ),
            ),
          ),
          vlan_ids: kept(Type.Array(Type.Integer({ minimum: 0, maximum: 4096 }))),
        },
        open,
      ),
    ),
  ),
  tunterm_ip_config: kept(
    named(
      'MxedgeTunnelAddresses',
      Type.Object(
        {
          gateway: Type.String(),
          gateway6: text,
          ip: Type.String(),
          ip6: text,
          netmask: Type.String(),
          netmask6: text,
        },
        open,
      ),
    ),
  ),
  tunterm_multicast_config: kept(
    named(
      'MxedgeMulticast',
      Type.Object(
        {
          mdns: kept(named('MxedgeMulticastService', Type.Object({ enabled: flag, vlan_ids: texts }, open))),
          ssdp: kept(named('MxedgeMulticastService', Type.Object({ enabled: flag, vlan_ids: texts }, open))),
        },
        open,
      ),
    ),
  ),
  tunterm_other_ip_configs: keyed(
    named('MxedgeOtherAddress', Type.Object({ ip: Type.String(), netmask: Type.String() }, open)),
  ),
  tunterm_port_config: kept(
    named(
      'MxedgePorts',
      Type.Object(
        {
          downstream_ports: texts,
          separate_upstream_downstream: flag,
          upstream_port_vlan_id: kept(
            Type.Union([Type.Integer(), Type.String({ maxLength: 100, description: 'a number or a variable' })]),
          ),
          upstream_ports: texts,
        },
        open,
      ),
    ),
  ),
  tunterm_switch_config: kept(named('MxedgeSwitch', Type.Object({ enabled: flag }, open))),
}

const Das = kept(
  named(
    'MxclusterDas',
    Type.Object(
      {
        coa_servers: kept(
          Type.Array(
            named(
              'MxclusterDasServer',
              Type.Object(
                {
                  disable_event_timestamp_check: flag,
                  enabled: flag,
                  host: text,
                  port: integer,
                  require_message_authenticator: flag,
                  secret: text,
                },
                open,
              ),
            ),
          ),
        ),
        enabled: flag,
      },
      open,
    ),
  ),
)

const server = { host: text, port: integer, secret: text, ssids: texts }
const source = kept(Type.Enum(['any', 'oob', 'oob6', 'tunnel', 'tunnel6']))

const Radsec = kept(
  named(
    'MxclusterRadsec',
    Type.Object(
      {
        acct_servers: kept(Type.Array(named('MxclusterAccountingServer', Type.Object(server, open)))),
        auth_servers: kept(
          Type.Array(
            named(
              'MxclusterAuthenticationServer',
              Type.Object(
                {
                  ...server,
                  inband_status_check: flag,
                  inband_status_interval: kept(Type.Integer({ minimum: 0 })),
                  keywrap_enabled: flag,
                  keywrap_format: kept(Type.Enum(['ascii', 'hex'])),
                  keywrap_kek: text,
                  keywrap_mack: text,
                  retry: integer,
                  timeout: integer,
                },
                open,
              ),
            ),
          ),
        ),
        enabled: flag,
        match_ssid: flag,
        nas_ip_source: source,
        proxy_hosts: texts,
        server_selection: kept(Type.Enum(['ordered', 'unordered'])),
        src_ip_source: source,
      },
      open,
    ),
  ),
)

export const clusterFields = {
  ...common,
  mist_das: Das,
  mist_nac: kept(
    named(
      'MxclusterNac',
      Type.Object(
        { acct_server_port: integer, auth_server_port: integer, client_ips: anyObject, enabled: flag, secret: text },
        open,
      ),
    ),
  ),
  mist_nacedge: anyObject,
  radsec: Radsec,
  radsec_tls: kept(named('MxclusterRadsecTls', Type.Object({ keypair: text }, open))),
  tunterm_ap_subnets: texts,
  tunterm_hosts: texts,
  tunterm_hosts_order: kept(Type.Array(Type.Integer())),
  tunterm_hosts_selection: kept(Type.Enum(['ordered', 'shuffle', 'shuffle-by-site'])),
  tunterm_monitoring_disabled: flag,
}
