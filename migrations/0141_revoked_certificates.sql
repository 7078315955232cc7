-- Client certificates of devices that the service has issued, in lower-case hex without leading zeros.
create table issued_certificate (
  mac text not null,
  serial text not null,
  issued_at timestamptz not null,
  primary key (mac, serial)
);

-- Client certificates that admit their device no more. An empty serial stands for all that were not issued since.
create table revoked_certificate (
  mac text not null,
  serial text not null,
  revoked_at timestamptz not null,
  primary key (mac, serial)
);
