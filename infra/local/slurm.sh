#!/usr/bin/env bash
# A Slurm for tests and benchmarks on this machine alone: real daemons on loopback, no cgroups, no database, no systemd.
#
#   infra/local/slurm.sh up     installs what is missing (Debian or Ubuntu, as root), starts munged, slurmctld and the nodes, and waits until the nodes are idle
#   infra/local/slurm.sh env    prints what a shell needs: eval "$(infra/local/slurm.sh env)"
#   infra/local/slurm.sh down   cancels all jobs, stops the daemons that `up` started, and removes the directory
#
# MARIN_SLURM_DIR    where all of its files are       (default: marin-slurm in the directory for temporary files)
# MARIN_SLURM_PORT   first of the ports it listens on (default 17600; the nodes follow)
# MARIN_SLURM_NODES  nodes                            (default 1)
# MARIN_SLURM_CPUS   processors of a node             (default 4, whatever the machine has)
set -euo pipefail

dir=${MARIN_SLURM_DIR:-${TMPDIR:-/tmp}/marin-slurm}
port=${MARIN_SLURM_PORT:-17600}
nodes=${MARIN_SLURM_NODES:-1}
cpus=${MARIN_SLURM_CPUS:-4}
export SLURM_CONF=$dir/slurm.conf
export PATH=$PATH:/usr/sbin

fail() {
  echo "slurm.sh: $*" >&2
  exit 1
}

install_packages() {
  local missing=() program
  for program in munged:munge slurmctld:slurmctld slurmd:slurmd sbatch:slurm-client; do
    command -v "${program%%:*}" >/dev/null || missing+=("${program##*:}")
  done
  [ ${#missing[@]} -eq 0 ] && return
  [ "$(id -u)" -eq 0 ] || fail "needs the packages ${missing[*]}: install them, or run this as root"
  local install=(apt-get install --yes --quiet --no-install-recommends "${missing[@]}")
  { DEBIAN_FRONTEND=noninteractive "${install[@]}" || { apt-get update --quiet && DEBIAN_FRONTEND=noninteractive "${install[@]}"; }; } >"$dir/install.log" 2>&1 ||
    fail "the packages ${missing[*]} could not be installed: see $dir/install.log"
}

# A daemon is known by its pid and by a variable in its environment, so that no other process is ever stopped in its place.
start() {
  local name=$1
  shift
  MARIN_SLURM_MARK=$dir setsid "$@" </dev/null >"$dir/$name.out" 2>&1 &
  echo $! >"$dir/$name.pid"
}

is_ours() {
  { [ -n "$1" ] && tr '\0' '\n' <"/proc/$1/environ" | grep -qxF "MARIN_SLURM_MARK=$dir"; } 2>/dev/null
}

stop() {
  local file=$dir/$1.pid pid
  [ -f "$file" ] || return 0
  pid=$(<"$file")
  rm -f "$file"
  is_ours "$pid" || return 0
  kill -TERM "$pid"
  for _ in $(seq 100); do
    is_ours "$pid" || return 0
    sleep 0.05
  done
  kill -KILL "$pid" 2>/dev/null || true
}

configure() {
  local host version node
  host=$(hostname -s)
  version=$(slurmctld -V | tr -dc '0-9.')
  cat >"$SLURM_CONF" <<CONF
ClusterName=marin
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CredType=cred/munge
SlurmUser=$(id -un)
SlurmdUser=root
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/slurmctld.self
SlurmdPidFile=$dir/%n.self
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_min_interval=0,batch_sched_delay=0
MaxJobCount=200000
MinJobAge=300
ReturnToService=2
KillWait=2
MpiDefault=none
AccountingStorageType=accounting_storage/none
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
  for node in $(seq "$nodes"); do
    echo "NodeName=n$node NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + node)) CPUs=$cpus CoresPerSocket=$cpus State=UNKNOWN" >>"$SLURM_CONF"
    mkdir -p "$dir/spool/n$node"
  done
  # Nothing here uses control groups. Versions before 23.11 cannot be told so.
  case $version in
    2[0-2].* | 23.0*) echo "CgroupPlugin=cgroup/v1" ;;
    *) echo "CgroupPlugin=disabled" ;;
  esac >"$dir/cgroup.conf"
}

idle_nodes() {
  timeout 5 sinfo --noheader --Node --states=idle --format=%N 2>/dev/null | sort -u | wc -l
}

up() {
  [ ! -e "$dir/slurmctld.pid" ] || fail "it is up already, in $dir"
  mkdir -p "$dir/state" "$dir/spool"
  chmod 755 "$dir"
  install_packages
  configure
  [ -f "$dir/munge.key" ] || (umask 077 && head -c 128 /dev/urandom >"$dir/munge.key")
  start munged munged --foreground --force --socket="$dir/munge.socket" --key-file="$dir/munge.key" --pid-file="$dir/munged.self" --log-file="$dir/munged.log" --seed-file="$dir/munged.seed"
  for _ in $(seq 100); do
    [ -S "$dir/munge.socket" ] && break
    sleep 0.05
  done
  start slurmctld slurmctld -D -i
  local node
  for node in $(seq "$nodes"); do start "n$node" slurmd -D -N "n$node"; done
  for _ in $(seq 300); do
    [ "$(idle_nodes)" -eq "$nodes" ] && return
    sleep 0.1
  done
  tail -n 5 "$dir"/*.out >&2
  fail "the nodes did not come up: the daemons' output is in $dir"
}

down() {
  [ -d "$dir" ] || return 0
  if [ -f "$dir/slurmctld.pid" ]; then
    timeout 5 scancel --user="$(id -un)" 2>/dev/null || true
    for _ in $(seq 50); do
      [ -z "$(timeout 5 squeue --noheader 2>/dev/null)" ] && break
      sleep 0.1
    done
  fi
  local file
  for file in "$dir"/n*.pid; do [ -f "$file" ] && stop "$(basename "$file" .pid)"; done
  stop slurmctld
  stop munged
  rm -rf "$dir"
}

case ${1:-} in
  up) up ;;
  env) echo "export SLURM_CONF=$SLURM_CONF" ;;
  down) down ;;
  *)
    sed -n '2,12p' "$0" | sed 's/^# \{0,1\}//'
    exit 2
    ;;
esac
