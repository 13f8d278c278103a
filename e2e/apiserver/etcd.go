package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// How often etcd says how far it is on watches on which nothing happens: as Kubernetes recommends, so that bookmarks of
// quiet kinds carry new versions.
const progressInterval = 5 * time.Second

type etcd struct {
	*embed.Etcd
	endpoint string
}

// How often another port is tried after somebody else was faster.
const etcdTries = 5

// startEtcd starts etcd where it is told to, or on a free port.
func startEtcd(o *options) (*etcd, error) {
	folder := filepath.Join(o.dir, "etcd")
	if o.snapshot != "" {
		if err := restoreEtcd(o, folder); err != nil {
			return nil, fmt.Errorf("cannot restore %s: %w", o.snapshot, err)
		}
	}
	if o.etcdListen != "" {
		return startEtcdAt(o.etcdListen, folder)
	}
	var server *etcd
	var err error
	for range etcdTries {
		free, failed := listen(0)
		if failed != nil {
			return nil, failed
		}
		_ = free.Close()
		if server, err = startEtcdAt(free.Addr().String(), folder); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return server, err
}

// The one address of the only member, which is never called.
var peer = url.URL{Scheme: "http", Host: "127.0.0.1:1"}

// restoreEtcd makes etcd's data of a snapshot, as `etcdutl snapshot restore` does.
func restoreEtcd(o *options, folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	config := embed.NewConfig()
	config.AdvertisePeerUrls = []url.URL{peer}
	return snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath:        o.snapshot,
		Name:                config.Name,
		OutputDataDir:       folder,
		PeerURLs:            []string{peer.String()},
		InitialCluster:      config.InitialClusterFromName(config.Name),
		InitialClusterToken: config.InitialClusterToken,
		RevisionBump:        o.revisionBump,
		MarkCompacted:       o.revisionBump > 0,
	})
}

func startEtcdAt(address, folder string) (*etcd, error) {
	client := url.URL{Scheme: "http", Host: address}
	config := embed.NewConfig()
	config.Dir = folder
	config.LogLevel = "warn"
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	// There is one member, so nobody calls it; its address is only a name.
	config.ListenPeerUrls, config.AdvertisePeerUrls = nil, []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	// Alone, it is elected at once.
	config.TickMs, config.ElectionMs = 10, 100
	// What is written survives the process, and need not survive the machine.
	config.UnsafeNoFsync = true
	config.WatchProgressNotifyInterval = progressInterval
	config.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration
	server, err := embed.StartEtcd(config)
	if err != nil {
		return nil, fmt.Errorf("cannot start etcd at %s: %w", address, err)
	}
	select {
	case <-server.Server.ReadyNotify():
		return &etcd{server, client.String()}, nil
	case err := <-server.Err():
		server.Close()
		return nil, fmt.Errorf("etcd has stopped: %w", err)
	case <-time.After(startPatience):
		server.Close()
		return nil, fmt.Errorf("etcd is not ready after %s", startPatience)
	}
}
