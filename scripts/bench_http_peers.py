# SPDX-License-Identifier: MIT
"""The peers that only suite http measures, at the settings recommended for one core.

Apache and h2o read files, as nginx and lighttpd do (bench_servers.py). hyper, monoio, Beast and Go
are libraries: each is a program of ours, under bench/rivals/, that keeps the folder in memory.
"""

import os
import pathlib

import bench_servers as servers

IN_MEMORY = ("hyper", "monoio", "beast", "go")
FROM_FILES = ("nginx", "nginx_cached", "lighttpd", "apache", "h2o")
NAMES = FROM_FILES + IN_MEMORY

# A connection that asks while all threads are busy makes event close resting ones: so there are
# more threads than connections in any case. Those that rest are bounded by (1 + factor) * threads.
APACHE = """
ServerRoot "{home}"
ServerName localhost
Listen 127.0.0.1:{port}
ListenBacklog 4096
PidFile "{home}/apache.{port}.pid"
Mutex file:{home}
ErrorLog "{home}/error.log"
LogLevel error
{modules}
{user}
StartServers 1
ServerLimit 1
ThreadLimit 600
ThreadsPerChild 600
MaxRequestWorkers 600
AsyncRequestWorkerFactor 30
MaxConnectionsPerChild 0
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 600
EnableSendfile On
EnableMMAP On
FileETag MTime Size
TypesConfig /dev/null
AddType text/plain .txt
DocumentRoot "{site}"
<Directory "{site}">
  Options None
  AllowOverride None
  Require all granted
</Directory>
"""
APACHE_MODULES = ("mpm_event", "authz_core", "mime")

H2O = """
{user}
num-threads: 1
max-connections: 16384
listen:
  host: 127.0.0.1
  port: {port}
pid-file: {home}/h2o.{port}.pid
error-log: {home}/error.log
http1-request-timeout: 600
file.send-compressed: OFF
hosts:
  default:
    paths:
      /:
        file.dir: {site}
"""


def apache(home, site):
    path = servers.program("apache2")
    folder = next((p for p in ("/usr/lib/apache2/modules", "/usr/lib64/httpd/modules")
                   if pathlib.Path(p).is_dir()), None)
    modules = "\n".join(f"LoadModule {m}_module {folder}/mod_{m}.so" for m in APACHE_MODULES)
    # Its programs may not run as root; www-data is who Debian runs them as.
    user = "User www-data\nGroup www-data" if os.geteuid() == 0 else ""
    return servers.configured(
        "apache", path and folder, home, APACHE,
        lambda config: [path, "-DFOREGROUND", "-f", config],
        site=site, modules=modules, user=user)


def h2o(home, site):
    path = servers.program("h2o")
    user = "user: root" if os.geteuid() == 0 else ""
    return servers.configured("h2o", path, home, H2O, lambda config: [path, "-c", config],
                              site=site, user=user)


def in_memory(rivals, site):
    """The libraries' servers; those that cannot be built say why."""
    for name in IN_MEMORY:
        path = rivals.path(name, "http")
        missing = None if path else rivals.missing[name]
        yield servers.Server(name, lambda port, p=path: [p, port, site], missing)


def everyone(rivals, home, site):
    """All peers, in the order of NAMES."""
    yield servers.nginx(home, site, "nginx", "")
    yield servers.nginx(home, site, "nginx_cached", servers.OPEN_FILE_CACHE)
    yield servers.lighttpd(home, site)
    yield apache(home, site)
    yield h2o(home, site)
    yield from in_memory(rivals, site)
