/*
 * States with the members, types and units that devices were seen to send: the first one is of an access point with
 * firmware of 2022, the others are as the sources of the clients of 2025 write them. Names and addresses are ours.
 */

const counters = (rx: number, tx: number) => ({
  collisions: 0,
  multicast: 0,
  rx_bytes: rx,
  rx_dropped: 0,
  rx_errors: 0,
  rx_packets: Math.floor(rx / 100),
  tx_bytes: tx,
  tx_dropped: 0,
  tx_errors: 0,
  tx_packets: Math.floor(tx / 100),
})

const cell = (index: number, bssid: string, phy: string) => ({
  bssid,
  iface: `wlan${index}`,
  location: '/interfaces/1/ssids/0',
  mode: 'ap',
  phy,
  radio: { $ref: `#/radios/${index}` },
  ssid: 'OpenWifi',
})

const [PHY_5, PHY_24] = ['soc/1b700000.pci/pci0001:00/0001:01:00.0', 'soc/1b900000.pci/pci0002:00/0002:01:00.0']

export const accessPoint = {
  version: 1,
  interfaces: [
    {
      clients: [
        {
          ipv4_addresses: ['10.2.0.1'],
          ipv6_addresses: ['fe80:0:0:0:0:0:0:1'],
          mac: 'e2:63:da:00:0b:8e',
          ports: ['eth1'],
        },
      ],
      counters: { ...counters(181_910_484, 2_749_349), multicast: 762_813, rx_packets: 1_076_144, tx_packets: 12_941 },
      dns_servers: ['10.2.0.1'],
      ipv4: { addresses: ['10.2.177.154/16'], dhcp_server: '10.2.0.1', leasetime: 86_400 },
      location: '/interfaces/0',
      name: 'up0v0',
      uptime: 130_177,
    },
    {
      counters: { ...counters(0, 1_032_226), tx_packets: 4881 },
      ipv4: { addresses: ['192.168.1.1/24'] },
      location: '/interfaces/1',
      name: 'down1v0',
      ssids: [cell(0, '04:f8:f8:00:0b:04', PHY_5), cell(1, '04:f8:f8:00:0b:03', PHY_24)],
      uptime: 130_177,
    },
  ],
  'link-state': {
    downstream: { eth1: { carrier: 0 } },
    upstream: { eth0: { carrier: 1, duplex: 'full', speed: 1000 } },
  },
  radios: [
    {
      active_ms: 130_162_935,
      busy_ms: 5_320_005,
      channel: 100,
      channel_width: '80',
      noise: -103,
      phy: PHY_5,
      receive_ms: 4_466_633,
      transmit_ms: 450_846,
      tx_power: 24,
    },
    {
      active_ms: 130_169_276,
      busy_ms: 21_844_515,
      channel: 6,
      channel_width: '20',
      noise: 4_294_967_200,
      phy: PHY_24,
      receive_ms: 18_929_929,
      transmit_ms: 421_807,
      tx_power: 30,
    },
  ],
  unit: {
    load: [0.039063, 0.02295, 0.001465],
    localtime: 1_647_363_036,
    memory: { buffered: 6_762_496, cached: 17_711_104, free: 99_299_328, total: 217_239_552 },
    uptime: 130_207,
  },
}

const station = (mac: string, bssid: string, more: object) => ({ station: mac, bssid, ...more })

/** One radio of the device has no network and is missing, so references are one too high. */
export const currentAccessPoint = {
  version: 1,
  unit: { uptime: 500, load: [0.1, 0.2, 0.3], cpu_load: [12.5, 20, 5], temperature: [48.6, 51], memory: {} },
  radios: [
    {
      channel: 11,
      channels: [11],
      frequency: [2462],
      channel_width: 20,
      tx_power: 20,
      phy: 'platform/soc/wifi:2G',
      band: ['2G'],
      chanUtil: 0,
      survey: [{ frequency: 2462, noise: -95 }],
    },
    {
      channel: 37,
      channels: [37],
      frequency: [6135],
      channel_width: 160,
      tx_power: 23,
      phy: 'platform/soc/wifi:6G',
      band: ['6G'],
      chanUtil: 7,
      survey: [
        { frequency: 6115, noise: -90, time: 100, busy: 10 },
        { frequency: 6135, noise: 158, time: 60_000, busy: 9000, time_rx: 6000, time_tx: 2000 },
      ],
    },
  ],
  interfaces: [
    {
      name: 'up0v0',
      location: '/interfaces/0',
      clients: [
        { mac: '02:00:00:00:00:02', ipv4_addresses: ['10.7.0.10'], ports: ['unknown'] },
        { mac: '00:00:5e:00:53:01', ipv4_addresses: ['10.7.0.1'], ports: ['WAN'] },
        { mac: '02:00:00:00:00:09', ipv4_addresses: ['10.7.0.20'], ports: ['LAN1'] },
      ],
      ssids: [
        {
          radio: { $ref: '#/radios/0' },
          phy: 'platform/soc/wifi',
          band: '2G',
          ssid: 'Guests',
          mode: 'ap',
          bssid: 'aa:bb:cc:00:a0:01',
          associations: [
            station('02:00:00:00:00:01', 'aa:bb:cc:00:a0:01', {
              connected: 77,
              inactive: 0.04,
              rssi: -61,
              rx_bytes: 10,
              tx_bytes: 20,
              rx_packets: 1,
              tx_packets: 2,
              tx_retries: 3,
              rx_rate: { bitrate: 6000, chwidth: 20 },
              tx_rate: { bitrate: 72_200, ht: true, mcs: 7, sgi: true, chwidth: 20 },
              ipaddr_v4: { assigned: '1', mac: '02:00:00:00:00:01', address: '10.7.0.9', hostname: 'phone' },
            }),
          ],
        },
        {
          radio: { $ref: '#/radios/2' },
          phy: 'platform/soc/wifi',
          band: '6G',
          ssid: 'Staff',
          mode: 'ap',
          bssid: 'aa:bb:cc:00:a0:06',
          counters: { rx_bytes: 500, tx_bytes: 900 },
          associations: [
            station('02:00:00:00:00:02', 'aa:bb:cc:00:a0:06', {
              rssi: 4_294_967_246,
              dynamic_vlan: 30,
              rx_rate: { bitrate: 1_200_000, he: true, mcs: 11, nss: 2 },
            }),
          ],
        },
        {
          radio: { $ref: '#/radios/2' },
          phy: 'platform/soc/wifi',
          band: '6G',
          ssid: 'Lab',
          mode: 'ap',
          bssid: 'aa:bb:cc:00:a0:07',
          counters: { rx_bytes: 200 },
          associations: [{ station: '02:00:00:00:00:03' }],
        },
        { radio: { $ref: '#/radios/0' }, ssid: 'Mesh', mode: 'mesh', associations: [{ station: '02:00:00:00:00:66' }] },
      ],
    },
  ],
  poe: { consumption: 4.5, ports: [{ id: '1', status: 'delivering', consumption: 4.5 }] },
  'link-state': {
    upstream: { WAN: { carrier: 1, speed: 2500, duplex: 'full', counters: { rx_bytes: 5000, rx_errors: 1 } } },
    downstream: { LAN1: { carrier: 1, speed: '100', duplex: 'half' } },
  },
  'lldp-peers': {
    upstream: {
      WAN: [
        {
          mac: '00:00:5e:00:53:01',
          description: 'Core switch',
          port_id: 'ge-0/0/7',
          port_descr: 'to the lobby',
          name: 'core-1',
          management_ips: ['192.0.2.1', '2001:db8::1'],
          capability: ['Bridge', 'Router'],
        },
      ],
    },
    downstream: {},
  },
}

const switchCounters = { collisions: 0, multicast: 0, rx_dropped: 0, tx_dropped: 0 }

export const olsSwitch = {
  version: 1,
  unit: {
    load: [0.5, 0.4, 0.3],
    localtime: 1,
    uptime: 900,
    memory: { total: 4000, free: 1000, cached: 0, buffered: 0 },
    poe: { 'max-power-budget': 370, 'power-consumed': 5, 'power-threshold': 90, 'power-status': 'ok' },
  },
  interfaces: [
    { name: 'Ethernet0', location: '/interfaces/0', clients: [], counters: switchCounters, dns_servers: [], ipv4: {} },
    {
      name: 'Ethernet2',
      location: '/interfaces/2',
      'transceiver-info': { 'form-factor': 'SFP+', 'part-number': 'P10', 'serial-number': 'X1', 'vendor-name': 'V' },
    },
    { name: 'Vlan20', location: '/SVI/20', ipv4: { addresses: ['192.0.2.10'] }, counters: {}, clients: [] },
  ],
  'link-state': {
    upstream: {
      Ethernet0: {
        carrier: true,
        speed: 1000,
        duplex: 'full',
        counters: {
          ...switchCounters,
          rx_bytes: 1000,
          tx_bytes: 2000,
          rx_packets: 10,
          tx_packets: 20,
          rx_error: 1,
          tx_error: 2,
        },
        poe: { 'class-assigned': 3, 'output-power': 5300, 'output-current': 100, status: 'delivering', counters: {} },
      },
      Ethernet1: {
        carrier: false,
        counters: {
          ...switchCounters,
          rx_bytes: 0,
          tx_bytes: 0,
          rx_packets: 0,
          tx_packets: 0,
          rx_error: 0,
          tx_error: 0,
        },
      },
      Ethernet2: { carrier: true, speed: 10_000, duplex: 'full', counters: {} },
    },
  },
  'lldp-peers': { upstream: {}, downstream: {} },
  'mac-forwarding-table': {
    overflow: false,
    Ethernet0: { 1: ['02:00:00:00:00:11'], 20: ['02:00:00:00:00:12'] },
    Ethernet2: { 1: ['00:00:5e:00:53:01'] },
  },
  'default-gateway': [{ metric: 0, 'gw-mac': '00:00:5e:00:53:01', 'out-port': 'Ethernet2', 'gw-ip': '192.0.2.254' }],
}
